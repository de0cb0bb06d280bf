// An air conditioner of echonet-lite (Node), as its documentation shows it.
//
//   air_conditioner.js OWN_ADDRESS
const EL = require("echonet-lite");

const AIR_CONDITIONER = "013001";

// The values of each property; maps list the properties that are announced, set and read.
const details = {
    [AIR_CONDITIONER]: {
        80: [0x30],
        81: [0x00],
        82: [0x00, 0x00, 0x50, 0x00],
        "8a": [0x00, 0x00, 0x77],
        "9d": [0x01, 0x80],
        "9e": [0x02, 0x80, 0xb3],
        "9f": [0x08, 0x80, 0x81, 0x82, 0x8a, 0x9d, 0x9e, 0x9f, 0xb3],
        b3: [20],
    },
};

async function received(rinfo, els, error) {
    if (error || els.DEOJ !== AIR_CONDITIONER) return;
    if (els.ESV === EL.GET) await EL.replyGetDetail(rinfo, els, details);
    if (els.ESV === EL.SETC || els.ESV === EL.SETI) await EL.replySetDetail(rinfo, els, details);
}

EL.initialize([AIR_CONDITIONER], received, 4, { v4: process.argv[2], autoGetProperties: false });
