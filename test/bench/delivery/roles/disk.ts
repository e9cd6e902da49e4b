/**
 * Stores hours and delivers them, for the benchmark: `node disk.ts FILE URL HOURS`. Prints `OnDisk`.
 */
import { statSync } from 'node:fs'
import Database from 'better-sqlite3'
import { clientOf, deliverAll, deliveryOf } from '../deliver.ts'
import { metricsAnHour } from '../metrics.ts'
import { openOutbox, storeHours } from '../store.ts'

export interface OnDisk {
  /** Bytes of the file for each metric in it, after a checkpoint: with all of them due, and with all delivered. */
  readonly due: number
  readonly delivered: number
}

const [file = '', url = '', hours = '0'] = process.argv.slice(2)

function bytesAMetric(): number {
  const database = new Database(file)
  database.pragma('wal_checkpoint(TRUNCATE)')
  database.close()
  return statSync(file).size / (Number(hours) * metricsAnHour)
}

const outbox = openOutbox(file, Number(hours))
await storeHours(outbox, 0, Number(hours))
const due = bytesAMetric()
const client = clientOf(url)
await deliverAll(outbox, deliveryOf(outbox, client, 'bench-key'))
const delivered = bytesAMetric()
process.stdout.write(`${JSON.stringify({ due, delivered } satisfies OnDisk)}\n`)
await client.close()
outbox.close()
