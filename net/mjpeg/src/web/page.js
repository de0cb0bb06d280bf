// The browser renders the image stream itself. This script reconnects it and displays the statistics.
'use strict'

const MINUTE_MS = 60_000
// After this long without a new frame, the sender is shown as silent.
const SILENCE_MS = 2_000
const STEPS_MS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000]

const element = (id) => document.getElementById(id)
const whole = new Intl.NumberFormat('en')
const digits = (count) => new Intl.NumberFormat('en', { minimumFractionDigits: count, maximumFractionDigits: count })
const [one, two] = [digits(1), digits(2)]
const picture = element('picture')

let points = []
let frames = 0
let lastFrame = -Infinity
let isConnected = false
let wasConnected = false

function write (id, text) {
  const place = element(id)
  if (place.textContent !== text) place.textContent = text
}

function watch () {
  picture.src = `pictures?${Date.now()}`
}

function showState () {
  const isSilent = performance.now() - lastFrame > SILENCE_MS
  const [state, text] = !isConnected
    ? (wasConnected ? ['lost', 'connection lost'] : ['waiting', 'connecting'])
    : frames === 0 ? ['waiting', 'waiting for a sender'] : isSilent ? ['silent', 'no data from sender'] : ['live', 'live']
  const place = element('state')
  place.dataset.state = state
  if (place.textContent !== text) place.textContent = text
  const isShown = picture.naturalWidth > 0
  write('hint', isShown ? '' : frames === 0 ? 'No frame received yet.' : 'The connection to the receiver was lost.')
  picture.classList.toggle('absent', !isShown)
}

function showGraph () {
  const now = performance.now()
  points = points.filter(([time]) => now - time <= MINUTE_MS + 1_000)
  const most = Math.max(0, ...points.map(([, value]) => value))
  const top = STEPS_MS.find((step) => step >= most) ?? most
  const place = ([time, value]) => `${(600 - (now - time) / MINUTE_MS * 600).toFixed(1)},${(99 - value / top * 98).toFixed(1)}`
  element('line').setAttribute('points', points.map(place).join(' '))
  write('most', `0 to ${whole.format(top)} ms`)
}

function show (update) {
  if (update.frames !== frames) lastFrame = performance.now()
  frames = update.frames
  write('rate', one.format(update.frames_per_s))
  write('bandwidth', one.format(update.bits_per_s / 1e6))
  write('frames', whole.format(update.frames))
  write('dropped', whole.format(update.dropped))
  write('lost', whole.format(update.lost_packets))
  write('jitter', two.format(update.jitter_ms))
  write('interval', two.format(update.interval_jitter_ms))
  write('size', update.width > 0 ? `${update.width} × ${update.height}` : '–')
  write('sender', update.sender === '' ? '' : `from ${update.sender}`)
  element('dropped').classList.toggle('bad', update.dropped > 0)
  element('lost').classList.toggle('bad', update.lost_packets > 0)
  points.push([performance.now(), update.interval_jitter_ms])
  showGraph()
  showState()
}

const statistics = new EventSource('statistics')
statistics.onopen = () => {
  // After a reconnect the image stream must be opened again, too.
  if (wasConnected) watch()
  isConnected = wasConnected = true
  showState()
}
statistics.onerror = () => {
  isConnected = false
  showState()
}
statistics.onmessage = (event) => show(JSON.parse(event.data))
picture.onload = showState
picture.onerror = () => setTimeout(() => { if (isConnected) watch() }, 1_000)
setInterval(showState, 500)
watch()
showState()
