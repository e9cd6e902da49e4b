/** The environment of a process for which time passes so many times as fast: its clocks and its waits. */
export function fastClock(times: number): Readonly<Record<string, string>> {
  const code = `import timers from 'node:timers/promises'
import { syncBuiltinESMExports } from 'node:module'
const [now, steady, sleep] = [Date.now.bind(Date), performance.now.bind(performance), timers.setTimeout]
const startMs = now()
const fast = () => Math.floor(startMs + (now() - startMs) * ${times})
globalThis.Date = class extends Date {
  constructor(...given) { if (given.length > 0) super(...given); else super(fast()) }
  static now() { return fast() }
}
performance.now = () => steady() * ${times}
timers.setTimeout = (ms, ...rest) => sleep(ms / ${times}, ...rest)
syncBuiltinESMExports()`
  return { NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(code)}"` }
}
