import type { Sqlite } from '../../sqlite/database.ts'

/** Cached entries before the cache is cleared: bounds the memory that clients with ever new ids can take. */
const rememberedMax = 100_000

/** The numbers under which metrics and forms are stored; assigned on first use. Only within a writing transaction. */
export interface Numbers {
  metric(protocolNo: number, id: string, atMs: number): number
  form(unit: string | undefined, module: string): number
  /** Clears the cache after a rollback: numbers assigned in it do not exist. */
  forget(): void
}

/** Cached numbers: committed ones never change. */
export function numbersIn(database: Sqlite): Numbers {
  const metricNo = database
    .prepare<[number, string], number>('SELECT no FROM metric WHERE protocol_no = ? AND id = ?')
    .pluck()
  const addMetric = database.prepare('INSERT INTO metric (protocol_no, id, latest_at_ms) VALUES (?, ?, ?)')
  const formNo = database
    .prepare<[string | null, string], number>('SELECT no FROM form WHERE unit IS ? AND module = ?')
    .pluck()
  const addForm = database.prepare('INSERT INTO form (unit, module) VALUES (?, ?)')
  const [metrics, forms] = [new Remembered<number>(), new Remembered<string | undefined>()]

  return {
    metric: (protocolNo, id, atMs) =>
      metrics.get(protocolNo, id) ??
      metrics.set(
        protocolNo,
        id,
        metricNo.get(protocolNo, id) ?? Number(addMetric.run(protocolNo, id, atMs).lastInsertRowid),
      ),
    form: (unit, module) =>
      forms.get(unit, module) ??
      forms.set(
        unit,
        module,
        formNo.get(unit ?? null, module) ?? Number(addForm.run(unit ?? null, module).lastInsertRowid),
      ),
    forget() {
      metrics.clear()
      forms.clear()
    },
  }
}

/** A cache of numbers by two names. */
class Remembered<K> {
  readonly #numbers = new Map<K, Map<string, number>>()
  #size = 0

  get(first: K, second: string): number | undefined {
    return this.#numbers.get(first)?.get(second)
  }

  /** @returns the number */
  set(first: K, second: string, number: number): number {
    if (this.#size >= rememberedMax) this.clear()
    const numbers = this.#numbers.get(first) ?? new Map<string, number>()
    this.#numbers.set(first, numbers.set(second, number))
    this.#size += 1
    return number
  }

  clear(): void {
    this.#numbers.clear()
    this.#size = 0
  }
}
