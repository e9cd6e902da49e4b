import type { Breakage, DiskSpace, OutboxHealth, Recovery } from '../../contract/health.ts'
import type { OutboxTables } from '../tables/outbox-tables.ts'

/** The state of the file and its disk. */
export class FileHealth implements OutboxHealth {
  readonly #disk: OutboxTables['disk']
  readonly #writer: OutboxTables['writer']

  constructor({ disk, writer }: Pick<OutboxTables, 'disk' | 'writer'>) {
    this.#disk = disk
    this.#writer = writer
  }

  get broken(): Promise<Breakage> {
    return this.#disk.broken
  }

  get fullSentence(): string | undefined {
    return this.#disk.isFull ? this.#disk.fullSentence : undefined
  }

  get room(): DiskSpace | undefined {
    return this.#disk.room
  }

  get isBeingChecked(): boolean {
    return this.#disk.held !== undefined
  }

  get waitingRows(): number {
    return this.#writer.waitingRows
  }

  lockedSentence(nowMs: number): string | undefined {
    return this.#writer.lockedSentence(nowMs)
  }

  requireRoom(): void {
    this.#disk.requireRoom()
  }

  async keepReserve(): Promise<void> {
    await this.#disk.keepBallast()
  }

  recover(error: unknown): Recovery {
    return this.#disk.recover(error)
  }

  explain(error: unknown): unknown {
    return this.#disk.explain(error)
  }
}
