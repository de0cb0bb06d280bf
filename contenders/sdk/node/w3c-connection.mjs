// One peer connection of the W3C API and its signalling, which workloads/datachannel.toml specifies.

/** Maximum number of candidates before their description. */
const MAX_HELD_CANDIDATES = 64;

export class Connection {
  #held = [];
  #described = false;
  #announced = false;
  #send;
  #local;

  /**
   * @param {RTCPeerConnection} pc
   * @param {number} index number of the connection
   * @param {string} local the only address whose candidates are offered
   * @param {(body: object) => void} send
   */
  constructor(pc, index, local, send) {
    this.pc = pc;
    this.index = index;
    this.#local = local;
    this.#send = send;
    pc.onicecandidate = ({ candidate }) => this.#announceCandidate(candidate);
  }

  async offer() {
    await this.#announce(await this.pc.createOffer());
  }

  /** Handles a signal of the peer, and answers an offer. */
  async receive(body) {
    if (body.type === "candidate") return this.#addCandidate(body);
    if (body.type !== "offer" && body.type !== "answer") throw new Error(`unknown signal type ${body.type}`);
    await this.pc.setRemoteDescription({ type: body.type, sdp: body.sdp });
    this.#described = true;
    const held = this.#held;
    this.#held = [];
    for (const candidate of held) await this.#addCandidate(candidate);
    if (body.type === "offer") await this.#announce(await this.pc.createAnswer());
  }

  async #announce(description) {
    await this.pc.setLocalDescription(description);
    const { type, sdp } = this.pc.localDescription;
    this.#announced = true;
    this.#send({ connection: this.index, type, sdp: keepCandidates(sdp, this.#local) });
  }

  /** Candidates that were gathered before the description was sent are part of it. */
  #announceCandidate(candidate) {
    if (!this.#announced || !candidate?.candidate || !isUsable(candidate.candidate, this.#local)) return;
    this.#send({
      connection: this.index,
      type: "candidate",
      candidate: candidate.candidate,
      sdp_mid: candidate.sdpMid,
      sdp_mline_index: candidate.sdpMLineIndex,
    });
  }

  async #addCandidate(body) {
    if (!this.#described) {
      if (this.#held.length >= MAX_HELD_CANDIDATES) throw new Error("too many candidates before the description");
      this.#held.push(body);
    } else if (body.candidate) {
      const { candidate, sdp_mid: sdpMid, sdp_mline_index: sdpMLineIndex } = body;
      await this.pc.addIceCandidate({ candidate, sdpMid, sdpMLineIndex });
    }
  }
}

/** Removes candidates of addresses other than the measured one. */
function keepCandidates(sdp, local) {
  return sdp
    .split("\r\n")
    .filter((line) => !line.startsWith("a=candidate:") || isUsable(line, local))
    .join("\r\n");
}

/** candidate:foundation component transport priority address port typ host (RFC 8839, section 5.1) */
function isUsable(candidate, local) {
  const [, , transport, , address] = candidate.split(" ");
  return transport?.toLowerCase() === "udp" && address === local;
}
