// The picture comes by itself; this keeps it coming, and writes down what the statistics say.
'use strict'

const MINUTE_MS = 60_000
// Without anything new for so long, the sender is said to be silent.
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
    ? (wasConnected ? ['lost', 'receiver is gone'] : ['waiting', 'connecting'])
    : frames === 0 ? ['waiting', 'waiting for a sender'] : isSilent ? ['silent', 'sender is silent'] : ['live', 'live']
  const place = element('state')
  place.dataset.state = state
  if (place.textContent !== text) place.textContent = text
  const isShown = picture.naturalWidth > 0
  write('hint', isShown ? '' : frames === 0 ? 'No picture has come yet.' : 'The picture is gone with its receiver.')
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

function show (told) {
  if (told.frames !== frames) lastFrame = performance.now()
  frames = told.frames
  write('rate', one.format(told.frames_per_s))
  write('bandwidth', one.format(told.bits_per_s / 1e6))
  write('frames', whole.format(told.frames))
  write('dropped', whole.format(told.dropped))
  write('lost', whole.format(told.lost_packets))
  write('jitter', two.format(told.jitter_ms))
  write('interval', two.format(told.interval_jitter_ms))
  write('size', told.width > 0 ? `${told.width} × ${told.height}` : '–')
  write('sender', told.sender === '' ? '' : `from ${told.sender}`)
  element('dropped').classList.toggle('bad', told.dropped > 0)
  element('lost').classList.toggle('bad', told.lost_packets > 0)
  points.push([performance.now(), told.interval_jitter_ms])
  showGraph()
  showState()
}

const statistics = new EventSource('statistics')
statistics.onopen = () => {
  // After a loss the stream of pictures is another one, too.
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
