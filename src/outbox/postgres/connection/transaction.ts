import type { ClientBase } from 'pg'

/** Row of an answer, by the names of its columns. */
export type Row = Readonly<Record<string, unknown>>

/**
 * A transaction under way. Statements are sent as soon as they are asked for, without waiting for the answers to earlier
 * ones, and run in that order: those that do not depend on each other's rows cost one round trip together.
 */
export interface Transaction {
  /** Runs one statement. Hours and other 64-bit numbers come back as numbers. */
  query<R extends object = Row>(text: string, values?: readonly unknown[]): Promise<R[]>
  /** Runs one statement whose rows are not needed. Its failure fails the transaction. */
  later(text: string, values?: readonly unknown[]): void
}

/** A transaction on a client. The first failure of a statement is what it fails with: later ones follow from it. */
export class ClientTransaction implements Transaction {
  readonly #client: ClientBase
  readonly #underWay: Promise<unknown>[] = []
  #failure: { readonly error: unknown } | undefined

  constructor(client: ClientBase) {
    this.#client = client
  }

  async query<R extends object = Row>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    const { rows } = await this.#sent<R>(text, values)
    // Where the beginning failed, a statement sent right behind it ran alone.
    if (this.#failure) throw this.#failure.error
    return rows
  }

  later(text: string, values: readonly unknown[] = []): void {
    this.#underWay.push(this.#sent(text, values).catch(() => {}))
  }

  /** Runs one or more statements without values. */
  command(text: string): void {
    this.#underWay.push(this.#noticed(this.#client.query(text)).catch(() => {}))
  }

  /** Sends the end of the transaction. @throws the first failure of any of its statements */
  async end(text: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    const ending = this.#noticed(this.#client.query(text))
    await Promise.allSettled([...this.#underWay, ending])
    if (text === 'ROLLBACK') return void (await ending)
    if (this.#failure) throw this.#failure.error
    // A server answers a COMMIT of a failed transaction with a rollback, without an error.
    const { command } = await ending
    if (command !== 'COMMIT') throw new Error(`a transaction ended with ${command}`)
  }

  /** The first failure of a statement; `undefined` when there is none. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure
  }

  async #sent<R extends object>(text: string, values: readonly unknown[]) {
    if (this.#failure) throw this.#failure.error
    return this.#noticed(this.#client.query<R>(text, values.map(sendable)))
  }

  #noticed<T>(answer: Promise<T>): Promise<T> {
    return answer.catch((error: unknown) => {
      this.#failure ??= { error }
      throw this.#failure.error
    })
  }
}

/** A value without the character that PostgreSQL's texts cannot hold. */
function sendable(value: unknown): unknown {
  if (typeof value === 'string') return value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value
  if (typeof value === 'bigint') return value.toString()
  return Array.isArray(value) ? value.map(sendable) : value
}
