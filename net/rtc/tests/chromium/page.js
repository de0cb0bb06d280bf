// What the tests can do in the browser: peer connections by name, their data channels by label. `tell` says what
// happened. Channels echo what they get unless told not to, after saying what it was.
{
  const connections = new Map()
  const waitFor = (target, type, done) =>
    new Promise((resolve) => {
      const look = () => done() && (target.removeEventListener(type, look), resolve())
      target.addEventListener(type, look)
      look()
    })
  // FNV-1a, 32 bits: the same in the test.
  const digest = (bytes) => bytes.reduce((hash, byte) => Math.imul(hash ^ byte, 0x01000193) >>> 0, 0x811c9dc5)

  const watch = (name, channel) => {
    const { channels } = connections.get(name)
    channels.set(channel.label, channel)
    channel.binaryType = 'arraybuffer'
    channel.echo = true
    const say = (type, more) => tell({ type, connection: name, label: channel.label, ...more })
    const opened = () =>
      say('open', {
        id: channel.id,
        ordered: channel.ordered,
        maxRetransmits: channel.maxRetransmits,
        maxPacketLifeTime: channel.maxPacketLifeTime,
        protocol: channel.protocol
      })
    channel.readyState === 'open' ? opened() : channel.addEventListener('open', opened)
    channel.addEventListener('close', () => say('close'))
    channel.addEventListener('message', ({ data }) => {
      const text = typeof data === 'string'
      const bytes = text ? new TextEncoder().encode(data) : new Uint8Array(data)
      say('message', { text, length: bytes.length, digest: digest(bytes) })
      if (channel.echo) channel.send(data)
    })
  }

  const gathered = async (pc, trickle) => {
    if (!trickle) await waitFor(pc, 'icegatheringstatechange', () => pc.iceGatheringState === 'complete')
    return pc.localDescription.sdp
  }

  globalThis.peers = {
    create(name, configuration) {
      const pc = new RTCPeerConnection(configuration)
      connections.set(name, { pc, channels: new Map() })
      pc.addEventListener('datachannel', ({ channel }) => watch(name, channel))
      pc.addEventListener('connectionstatechange', () =>
        tell({ type: 'state', connection: name, state: pc.connectionState })
      )
      pc.addEventListener('icecandidate', ({ candidate }) =>
        tell({ type: 'candidate', connection: name, candidate: candidate?.candidate ?? '' })
      )
    },
    createChannel(name, label, init) {
      watch(name, connections.get(name).pc.createDataChannel(label, init))
    },
    async offer(name, trickle, iceRestart) {
      const { pc } = connections.get(name)
      await pc.setLocalDescription(await pc.createOffer({ iceRestart }))
      return gathered(pc, trickle)
    },
    async acceptOffer(name, sdp, trickle) {
      const { pc } = connections.get(name)
      await pc.setRemoteDescription({ type: 'offer', sdp })
      await pc.setLocalDescription(await pc.createAnswer())
      return gathered(pc, trickle)
    },
    async acceptAnswer(name, sdp) {
      await connections.get(name).pc.setRemoteDescription({ type: 'answer', sdp })
    },
    async addCandidate(name, candidate) {
      await connections.get(name).pc.addIceCandidate({ candidate, sdpMid: '0', sdpMLineIndex: 0 })
    },
    sendText(name, label, text) {
      connections.get(name).channels.get(label).send(text)
    },
    // `length` bytes, each the low byte of its index times 7 plus `seed`.
    sendBytes(name, label, length, seed) {
      const bytes = Uint8Array.from({ length }, (_, index) => index * 7 + seed)
      connections.get(name).channels.get(label).send(bytes)
    },
    setEcho(name, label, echo) {
      connections.get(name).channels.get(label).echo = echo
    },
    closeChannel(name, label) {
      connections.get(name).channels.get(label).close()
    },
    close(name) {
      connections.get(name).pc.close()
    },
    // The id and the address of the remote candidate of the pair in use.
    async selectedPair(name) {
      const stats = await connections.get(name).pc.getStats()
      const transport = [...stats.values()].find(({ type }) => type === 'transport')
      const pair = stats.get(transport.selectedCandidatePairId)
      const { address, port } = stats.get(pair.remoteCandidateId)
      return { pair: pair.id, remote: `${address}:${port}`, restarts: transport.selectedCandidatePairChanges }
    }
  }
}
