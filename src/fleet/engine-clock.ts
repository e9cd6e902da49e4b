import type { Clock } from 'pg-boss'
import type { Time } from '../edge/time.ts'

/** The clock and the timers of the job engine, by those of its daemon. */
export function engineClock(time: Pick<Time, 'nowMs' | 'sleep'>): Clock {
  const clear = (timer: unknown) => {
    if (timer instanceof AbortController) timer.abort(new Error('cleared'))
  }
  return {
    now: () => time.nowMs(),
    setTimeout(act, ms) {
      const timer = new AbortController()
      void time.sleep(ms, timer.signal).then(act, () => {})
      return timer
    },
    setInterval(act, ms) {
      const timer = new AbortController()
      const again = (): void => {
        act()
        next()
      }
      const next = () => void time.sleep(ms, timer.signal).then(again, () => {})
      next()
      return timer
    },
    clearTimeout: clear,
    clearInterval: clear,
  }
}
