// A controller of echonet-lite (Node): finds a light, reads and switches it.
//
//   controller.js OWN_ADDRESS NODE_ADDRESS
const EL = require("echonet-lite");

const CONTROLLER = "05ff01";
const LIGHT = "029101";
const OPERATION_STATUS = 0x80;
const [own, node] = process.argv.slice(2);

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until the library has stored this value of the light; any value if there is none given. */
async function stored(epc, value) {
    for (let tries = 0; tries < 200; tries++) {
        const known = EL.facilities[node]?.[LIGHT]?.[epc];
        if (known && (value === undefined || known === value)) return known;
        await pause(50);
    }
    throw new Error(`no property ${epc} ${value ?? ""}: ${JSON.stringify(EL.facilities)}`);
}

async function main() {
    await EL.initialize([CONTROLLER], () => {}, 4, { v4: own, autoGetProperties: true, autoGetDelay: 20 });
    EL.search();
    // It reads the property maps and all properties of each object that it finds.
    console.log("get map", await stored("9f"));
    console.log("read", await stored("80", "30"));
    console.log("level", await stored("b0"));
    EL.sendOPC1(node, CONTROLLER, LIGHT, EL.SETC, OPERATION_STATUS, [0x31]);
    await pause(200);
    EL.sendOPC1(node, CONTROLLER, LIGHT, EL.GET, OPERATION_STATUS, [0x00]);
    console.log("read", await stored("80", "31"));
    EL.release();
    process.exit(0);
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
