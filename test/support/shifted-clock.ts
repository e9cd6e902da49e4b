/** The environment of a process whose clock is off; its steady clock, and everybody else's, are not. */
export function shiftedClock(aheadMs: number): Readonly<Record<string, string>> {
  const code = `const now = Date.now.bind(Date), off = ${aheadMs}
globalThis.Date = class extends Date {
  constructor(...given) { if (given.length > 0) super(...given); else super(now() + off) }
  static now() { return now() + off }
}`
  return { NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(code)}"` }
}
