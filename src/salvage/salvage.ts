import { existsSync } from 'node:fs'
import { brokenPages, quickDamageOf } from './detect-damage.ts'
import { callWhole, finishMoves, moveAside, moveIn, nameFor, stampOf } from './files.ts'
import { type Made, type RemakeDeps, remake, type SalvagedTables } from './remake.ts'

/** Dependencies of `salvage`. */
export type SalvageDeps = RemakeDeps

/** Result of salvaging a damaged outbox. */
export interface Salvaged extends Made {
  /** The damage found. */
  readonly reason: string
  /** Path of the damaged file. */
  readonly aside: string
}

/** Finds damage in an outbox's file, and salvages a damaged one. Other rooms use only this class. */
export class Salvage {
  readonly #tables: SalvagedTables

  constructor(tables: SalvagedTables) {
    this.#tables = tables
  }

  /**
   * Checks for damage before the outbox is opened. SQLite would treat an emptied file as a new one, read a log only up
   * to its first broken frame, and overwrite the rest.
   *
   * @returns the damage; `undefined` when none is visible
   */
  damageOf(file: string): string | undefined {
    return this.quickDamageOf(file) ?? (existsSync(file) ? this.brokenPages(file) : undefined)
  }

  /** As `damageOf`, without reading the pages. */
  quickDamageOf(file: string): string | undefined {
    return quickDamageOf(file)
  }

  /** Reads every page: 50 ms for 1,000,000 metrics. @returns the damage; `undefined` when there is none */
  brokenPages(file: string): string | undefined {
    return brokenPages(file, this.#tables.schema.version)
  }

  /** Continues a salvage that a crash interrupted. Call it before the file is opened. */
  finishMoves(file: string): void {
    finishMoves(file)
  }

  /**
   * Writes everything readable of a damaged outbox into a new one, puts that in its place, and keeps the damaged file
   * next to it. No value in the new file differs from before; hours with missing values are due again. The caller must
   * hold the delivery role and have closed the outbox.
   *
   * @throws Fault `outbox-unusable` for a file of another version
   */
  salvage(file: string, reason: string, context: SalvageDeps): Salvaged {
    const at = nameFor(file, context.nowMs)
    const stamp = stampOf(file)
    const made = remake(file, file, this.#tables, context)
    const aside = callWhole(file, at)
    moveAside(file, aside)
    // A command that had the outbox open may have written while it was read.
    const final = stampOf(aside) === stamp ? made : this.#again(file, aside, at, context)
    moveIn(file, at)
    return { reason, aside, ...final }
  }

  #again(file: string, aside: string, at: string, context: SalvageDeps): Made {
    const made = remake(aside, file, this.#tables, context)
    callWhole(file, at)
    return made
  }
}
