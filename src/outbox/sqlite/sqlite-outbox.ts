import { nextTick } from '../../edge/next-tick.ts'
import { systemTime, type Time } from '../../edge/time.ts'
import { Fault } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import type { ListKeeper } from '../../model/list-memory.ts'
import { isBusy, isDamage } from '../../sqlite/damage.ts'
import { openDatabase, type Sqlite, type SqliteStatement, trimWal } from '../../sqlite/database.ts'
import { fileFault, isTrouble } from '../../sqlite/trouble.ts'
import type { DeliveryStore } from '../contract/delivery-store.ts'
import type { IntakeStore } from '../contract/intake-store.ts'
import type { OperatorStore } from '../contract/operator-store.ts'
import type {
  Breakage,
  DiskSpace,
  Outbox,
  OutboxHealth,
  Recovery,
  ReportStore,
  UpkeepDeps,
} from '../contract/outbox.ts'
import type { StatusStore } from '../contract/status-store.ts'
import { StoreDelivery } from '../store/delivery-store.ts'
import { StoreIntake, UnsentMetrics } from '../store/intake-store.ts'
import { StoreLists } from '../store/list-memory.ts'
import { StoreOperators } from '../store/operator-store.ts'
import { OldValues } from '../store/pruning.ts'
import { rendered, type Statement } from '../store/sql.ts'
import { StoreReports, StoreStatus } from '../store/status-store.ts'
import { Upkeep } from '../store/upkeep.ts'
import { done, type StoreDatabase, type StoreRow, type StoreWork, type WriteOptions } from '../store/work.ts'
import { Disk } from './file/disk.ts'
import { WalWatch } from './file/wal-watch.ts'
import { Writer } from './file/writer.ts'
import { outboxSchema } from './outbox-salvage.ts'

/** The outbox's file, as the store asks it: work is done within one tick of the event loop. */
class SqliteDatabase implements StoreDatabase {
  readonly #database: Sqlite
  readonly #writer: Writer
  readonly #requireTables: () => void
  readonly #prepared = new Map<string, SqliteStatement<StoreRow>>()
  readonly #asOfOneInstant: <T>(work: () => StoreWork<T>) => T

  /** @param requireTables asked in each transaction that writes: throws when the tables are of another version now */
  constructor(database: Sqlite, writer: Writer, requireTables: () => void) {
    this.#database = database
    this.#writer = writer
    this.#requireTables = requireTables
    const transaction = database.transaction((work: () => StoreWork<unknown>) => this.#done(work))
    this.#asOfOneInstant = <T>(work: () => StoreWork<T>) => transaction(work) as T
  }

  async read<T>(work: () => StoreWork<T>): Promise<T> {
    return this.#asOfOneInstant(work)
  }

  readEach<T>(work: () => StoreWork<T>): Promise<T> {
    return this.read(work)
  }

  write<T>(work: () => StoreWork<T>, options: WriteOptions = {}): Promise<T> {
    const { durability, rows = 1, onDelayed, isOptional = false } = options
    const act = () => {
      this.#requireTables()
      return this.#done(work)
    }
    if (isOptional) return this.#writer.atOnce(act)
    return durability === 'unsynced' ? this.#writer.unsynced(act, onDelayed) : this.#writer.commit(act, rows, onDelayed)
  }

  rest(): Promise<void> {
    return nextTick()
  }

  whileWaiting<T>(rows: number, act: () => Promise<T>): Promise<T> {
    return this.#writer.whileWaiting(rows, act)
  }

  concernsAll(error: unknown): boolean {
    return error instanceof Fault || isTrouble(error)
  }

  #done<T>(work: () => StoreWork<T>): T {
    return done(work(), statement => this.#rows(statement))
  }

  #rows(statement: Statement): readonly StoreRow[] {
    const { text, values } = rendered(statement, 'sqlite')
    const known = this.#prepared.get(text)
    const preparedStatement = known ?? this.#database.prepare<unknown[], StoreRow>(text)
    if (!known) this.#prepared.set(text, preparedStatement)
    if (preparedStatement.reader) return preparedStatement.all(...values)
    preparedStatement.run(...values)
    return []
  }
}

/** An outbox in an SQLite file. */
export class SqliteOutbox implements Outbox {
  readonly intake: IntakeStore
  readonly delivery: DeliveryStore
  readonly operators: OperatorStore
  readonly status: StatusStore
  readonly reports: ReportStore
  readonly lists: ListKeeper
  readonly health: OutboxHealth
  /** Its path. */
  readonly file: string
  readonly disk: Disk
  readonly writer: Writer
  readonly #database: Sqlite
  readonly #old: OldValues
  readonly #walWatch: WalWatch

  /**
   * @param file created if missing, with its folder
   * @param time for the waits while another process has the write lock
   * @param disk state of the original's disk where `file` is a copy. Default: the file's own
   * @throws Fault `outbox-corrupt`, `disk-full` or `outbox-unusable`
   */
  constructor(file: string, time: Pick<Time, 'nowMs' | 'sleep'> = systemTime, disk = new Disk(file)) {
    this.file = file
    this.disk = disk
    this.#database = openFile(file, this.disk)
    this.writer = new Writer(this.#database, this.disk, time)
    const database = new SqliteDatabase(this.#database, this.writer, () =>
      this.disk.requireTables(this.#database, outboxSchema),
    )
    const unsent = new UnsentMetrics()
    this.health = new FileHealth(this.disk, this.writer)
    this.intake = new StoreIntake({ database, health: this.health, unsent })
    this.delivery = new StoreDelivery(database, unsent)
    this.operators = new StoreOperators(database)
    this.status = new StoreStatus(database)
    this.reports = new StoreReports(database)
    this.lists = new StoreLists(database)
    this.#old = new OldValues(database)
    this.#walWatch = new WalWatch(disk, () => this.trimWal())
  }

  startUpkeep(deps: UpkeepDeps): { stop(): Promise<void> } {
    return new Upkeep(this, deps)
  }

  /** For upkeep: a disk that cannot be written has broken the outbox. */
  get noRoomSentence(): string | undefined {
    return this.disk.isFull && !this.disk.isReadOnly ? this.disk.fullSentence : undefined
  }

  get isInTrouble(): boolean {
    return !this.disk.isInPlace || !this.disk.seemsWritable
  }

  requireInPlace(): void {
    this.disk.requireInPlace()
  }

  look(report: UpkeepDeps['report']): void {
    this.disk.look()
    this.#walWatch.look(report)
  }

  /** Deletes a part of the delivered and dropped values before an hour. @returns whether there is more */
  async pruneSome(before: Hour): Promise<boolean> {
    try {
      return this.disk.check === undefined && (await this.#old.pruneSome(before))
    } catch (error) {
      // Deleting old values can wait until the next pass.
      if (isBusy(error)) return false
      throw error
    }
  }

  /** Truncates the write-ahead log, if no process reads or writes now. */
  trimWal(): void {
    if (!this.disk.check) trimWal(this.#database)
  }

  limitWaits(): void {
    this.writer.giveUpLater()
  }

  async close(): Promise<void> {
    this.writer.giveUp()
    this.#database.close()
  }
}

/** Opens the outbox's file, creating it if missing. On a full disk the ballast is deleted to make room. */
function openFile(file: string, disk: Disk): Sqlite {
  try {
    const database = openDatabase(file, outboxSchema)
    disk.opened()
    return database
  } catch (error) {
    if (disk.recover(error) === 'room-made') return openFile(file, disk)
    throw openingFault(file, error, disk)
  }
}

function openingFault(file: string, error: unknown, disk: Disk): Fault {
  if (!isDamage(error)) {
    const fault = fileFault('the outbox', file, error)
    return fault.code === 'disk-full' ? disk.fault(error) : fault
  }
  const message = `cannot open the outbox ${file}: ${error instanceof Error ? error.message : String(error)}`
  return new Fault('outbox-corrupt', message, {
    fix: 'a running daemon salvages it; without a daemon, run this again',
    cause: error,
  })
}

/** The state of the file and its disk. */
class FileHealth implements OutboxHealth {
  readonly #disk: Disk
  readonly #writer: Writer

  constructor(disk: Disk, writer: Writer) {
    this.#disk = disk
    this.#writer = writer
  }

  get broken(): Promise<Breakage> {
    return this.#disk.broken
  }

  get fullSentence(): string | undefined {
    return this.#disk.isFull ? this.#disk.fullSentence : undefined
  }

  get isReadOnly(): boolean {
    return this.#disk.isReadOnly
  }

  get room(): DiskSpace | undefined {
    return this.#disk.room
  }

  get isBeingChecked(): boolean {
    return this.#disk.check !== undefined
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
