import type { CommitStep } from '../contract/fleet-store.ts'
import type { Statement } from './sql.ts'

/** A row of an answer, by the names of its columns. */
export type StoreRow = object

/**
 * Work on a database: a generator that yields statements and is resumed with the rows of each. So it is written once: the
 * driver of PostgreSQL waits for the answers, and that of SQLite has them at once, which keeps a transaction in one tick
 * of the event loop.
 */
export type StoreWork<T> = Generator<readonly Statement[], T, readonly (readonly StoreRow[])[]>

/** Options of a write. */
export interface WriteOptions {
  /** `unsynced`: the commit does not wait for the disk, and a power cut may undo it. Default: `synced`. */
  readonly durability?: 'synced' | 'unsynced'
  /** Rows written, about. Default: 1. */
  readonly rows?: number
  /** Called at each attempt that fails because another process writes. */
  readonly onDelayed?: () => void
  /** Whether it is given up, with an error, when another process writes. Default: it is tried again. */
  readonly isOptional?: boolean
  /** Run in the commit, after the work; only where the outbox is shared. */
  readonly steps?: readonly CommitStep[]
}

/** A database as the store uses it. A function that makes work may be called more than once: a transaction is tried again. */
export interface StoreDatabase {
  /** Reads as of one instant. */
  read<T>(work: () => StoreWork<T>): Promise<T>
  /** Reads, each statement as of an instant of its own. Not for values of metrics: a pooler may give a session that rounds. */
  readEach<T>(work: () => StoreWork<T>): Promise<T>
  /** Writes all or nothing. */
  write<T>(work: () => StoreWork<T>, options?: WriteOptions): Promise<T>
  /** Lets other work of the process run between two reads, where a read blocks it. */
  rest(): Promise<void>
  /** Does something in which rows wait in memory to be written, and counts them meanwhile. */
  whileWaiting<T>(rows: number, act: () => Promise<T>): Promise<T>
  /** Whether an error of a write is met by any other write, too, as that of a full disk. */
  concernsAll(error: unknown): boolean
}

/** The rows of one statement. */
export function* query<R extends StoreRow>(statement: Statement): StoreWork<R[]> {
  const [found] = yield [statement]
  return (found ?? []) as R[]
}

/** The first row of one statement; `undefined` when there is none. */
export function* first<R extends StoreRow>(statement: Statement): StoreWork<R | undefined> {
  return (yield* query<R>(statement))[0]
}

/** Runs one statement whose rows are not needed. Its failure fails the transaction. */
export function* write(statement: Statement): StoreWork<void> {
  yield [{ ...statement, isLater: true }]
}

type Results<T extends readonly StoreWork<unknown>[]> = { [K in keyof T]: T[K] extends StoreWork<infer R> ? R : never }

/** Does work side by side: what is asked at a time costs one round trip together. */
export function* together<const T extends readonly StoreWork<unknown>[]>(...works: T): StoreWork<Results<T>> {
  const results: unknown[] = []
  let openWorks = works.map((work, place) => ({ work, place, step: work.next([]) }))
  for (;;) {
    for (const { step, place } of openWorks) if (step.done) results[place] = step.value
    openWorks = openWorks.filter(({ step }) => !step.done)
    if (openWorks.length === 0) return results as Results<T>
    const statements = openWorks.map(({ step }) => (step.done ? [] : step.value))
    const answers = yield statements.flat()
    let from = 0
    openWorks = openWorks.map(({ work, place }, index) => {
      const own = answers.slice(from, from + (statements[index]?.length ?? 0))
      from += own.length
      return { work, place, step: work.next(own) }
    })
  }
}

/** Does work at once. @param answer gives the rows of a statement */
export function done<T>(work: StoreWork<T>, answer: (statement: Statement) => readonly StoreRow[]): T {
  let step = work.next([])
  while (!step.done) step = work.next(step.value.map(answer))
  return step.value
}
