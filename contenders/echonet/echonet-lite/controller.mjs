// The library's controller: one function handles all received frames, and a read is identified by its TID.
import EL from "echonet-lite";
import { LIGHTING } from "netdyno-contender/echonet";

const ITSELF = "05ff01";
const EPC_AND_PDC = 4; // hex digits

export function library({ peer }) {
  let onAnswer;

  const find = (answered) =>
    new Promise((resolve, reject) => {
      const receive = ({ address }, message, error) => {
        if (error) throw error;
        if (address !== peer || (message.ESV !== EL.GET_RES && message.ESV !== EL.GET_SNA)) return;
        if (onAnswer) onAnswer(message.TID + message.SEOJ, valueOf(message));
        else if (message.DETAILs.d6?.slice(2).includes(LIGHTING)) {
          onAnswer = answered;
          resolve();
        }
      };
      EL.initialize([ITSELF], receive).then(() => EL.search(), reject);
    });

  const send = (object, epc) => EL.bytesToString(EL.sendOPC1(peer, ITSELF, object, EL.GET, epc)) + object;

  return { find, send };
}

/** Returns the raw value. DETAILs would convert a bitmap to a list. */
const valueOf = ({ ESV, DETAIL }) => (ESV === EL.GET_RES ? Buffer.from(DETAIL.slice(EPC_AND_PDC), "hex") : undefined);
