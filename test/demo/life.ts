import type { Time } from '../../src/edge/time.ts'
import { hourMs } from '../../src/model/limits.ts'
import type { Scene } from '../support/scene.ts'
import { DemoError, type Ending } from './ending.ts'

const pulseEveryMs = 60_000

/** A block is stamped in whole seconds: this long after the hour, one lies past it. */
const pastHourMs = 1_500

/** Time until the next block: a minute, and sooner where a full hour lies between, which needs a block past it. */
export function pulsePauseMs(nowMs: number): number {
  const untilPastHourMs = hourMs - (nowMs % hourMs) + pastHourMs
  return Math.min(pulseEveryMs, untilPastHourMs)
}

/** Lets the scene's chain go on at the pace of the clock until it is disposed of. */
export function keepAlive(scene: Scene, time: Time, ending: Ending): AsyncDisposable {
  const stopped = new AbortController()
  const live = async () => {
    for (;;) {
      await scene.pulse(time.nowMs())
      await time.sleep(pulsePauseMs(time.nowMs()), stopped.signal)
    }
  }
  const living = live().catch(async error => {
    if (!stopped.signal.aborted) await ending.die(new DemoError(`The local chain does not go on: ${error}`))
  })
  return {
    async [Symbol.asyncDispose]() {
      stopped.abort()
      await living
    },
  }
}
