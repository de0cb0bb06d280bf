// A headless Chromium at the end of two pipes. A line in is {"id", "call", "arguments"}: the function of page.js of that
// name is called; a line out is {"id", "value"} or {"id", "error"} for it, or {"event": ...} when something happened in
// the page. Ends with its stdin.
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const [executablePath, ...flags] = process.argv.slice(2)
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)

const browser = await chromium.launch({
  executablePath,
  // Both ends are on loopback, where Chromium gathers no candidates unless told to. Its sandbox does not work as root.
  args: ['--no-sandbox', '--allow-loopback-in-peer-connection', ...flags]
})
const page = await browser.newPage()
page.on('pageerror', (error) => say({ event: { type: 'pageerror', error: String(error) } }))
await page.exposeFunction('tell', (event) => say({ event }))
await page.setContent('<!doctype html><title>netdyno-rtc</title>')
await page.addScriptTag({ path: fileURLToPath(new URL('page.js', import.meta.url)) })
say({ event: { type: 'ready', version: browser.version() } })

for await (const line of createInterface({ input: process.stdin })) {
  const { id, call, arguments: parameters } = JSON.parse(line)
  page.evaluate(([name, list]) => globalThis.peers[name](...list), [call, parameters]).then(
    (value) => say({ id, value }),
    (error) => say({ id, error: String(error) })
  )
}
await browser.close()
