import { Fortune } from '../../simulation/chance.ts'
import { type HourValue, placeOf } from './history.ts'
import type { IllKind } from './script.ts'
import type { FleetWorld } from './world.ts'

/** The service: what it has, and what goes wrong with it. */
export class FleetService {
  readonly values = new Map<string, HourValue>()
  readonly #world: FleetWorld
  readonly #chance: Fortune

  constructor(world: FleetWorld) {
    this.#world = world
    this.#chance = new Fortune(world.script.seed + 95_000)
  }

  /** Takes a push. @returns what goes wrong; `undefined` when all is well */
  take(daemon: string, key: string, values: readonly HourValue[]): IllKind | undefined {
    const ill = this.#ill()
    if (ill === undefined || ill === 'lost') for (const value of values) this.values.set(placeOf(value), value)
    this.#world.note({ kind: 'pushed', daemon, key, ...(ill && { isIll: true }), values })
    return ill
  }

  #ill(): IllKind | undefined {
    const { script, clock } = this.#world
    const sinceMs = clock.nowMs() - script.startMs
    const found = script.ills.find(({ fromMs, toMs }) => fromMs <= sinceMs && sinceMs < toMs)
    return found && this.#chance.is(found.part) ? found.what : undefined
  }
}
