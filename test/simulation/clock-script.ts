import { hourAfter, hourAt } from '../../src/model/hour.ts'
import { hourMs } from '../../src/model/limits.ts'
import { Fortune } from './chance.ts'
import type { Trouble } from './troubles.ts'

/** The machine's clock is set wrong, and right again. */
export interface WrongClock {
  readonly fromMs: number
  readonly toMs: number
  readonly aheadMs: number
}

/** The part of the service that matters to a question for the time. */
interface Answering {
  readonly troubles: readonly Trouble[]
  readonly skews: readonly { readonly fromMs: number; readonly skewMs: number }[]
  readonly flaky: number
}

const minuteMs = 60_000
const yearMs = 365 * 24 * hourMs
/** Witnesses that do not answer with the time for long. */
const silencing: readonly Trouble['ill']['kind'][] = ['silent', 'status', 'slow']

/**
 * In some worlds the clock is wrong for up to a minute, whatever else is wrong; in others for up to two hours, while the
 * service can say so.
 */
export function wrongClocks(
  seed: number,
  { startMs, healthyMs }: { readonly startMs: number; readonly healthyMs: number },
  isLong: boolean,
): { readonly wrongClocks: readonly WrongClock[]; readonly isServiceCalm: boolean } {
  const chance = new Fortune(seed + 9)
  const isServiceCalm = chance.is(0.5)
  if (isLong || chance.is(0.7)) return { wrongClocks: [], isServiceCalm: false }
  const wrong = chance.times(1, 3, () => {
    const fromMs = whenever(chance, startMs, healthyMs)
    const longestMs = isServiceCalm && chance.is(0.6) ? 2 * hourMs : minuteMs
    const toMs = Math.min(healthyMs, fromMs + Math.floor(chance.spread(1_000, longestMs)))
    const aheadMs = Math.floor(chance.spread(6 * minuteMs, 60 * yearMs)) * chance.pick([-1, 1])
    return { fromMs, toMs, aheadMs }
  })
  return { wrongClocks: wrong, isServiceCalm }
}

/** Often from the start on, or across a full hour. */
function whenever(chance: Fortune, startMs: number, healthyMs: number): number {
  if (chance.is(0.3)) return startMs
  const atMs = Math.floor(chance.between(startMs, healthyMs))
  const nextMs = hourAfter(hourAt(atMs), 1)
  return chance.is(0.3) ? nextMs - Math.floor(chance.spread(100, 50_000)) : atMs
}

/** A service whose clock is right, and that answers at once where that is asked for. */
export function answering<S extends Answering>(service: S, isCalm: boolean): S {
  const skews = [{ fromMs: 0, skewMs: 0 }]
  if (!isCalm) return { ...service, skews }
  const troubles = service.troubles.filter(({ ill }) => !silencing.includes(ill.kind))
  return { ...service, skews, troubles, flaky: 0 }
}
