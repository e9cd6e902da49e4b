import { type Hour, hourNumber } from '../../../model/hour.ts'
import { jsonOf } from '../../../model/json.ts'
import type { Provenance } from '../../../model/metric.ts'
import type { FailedAttempt, HourOrigin, OriginBlock } from '../../contract/history.ts'
import { type BlockRow, blockOf } from '../../rows/block-row.ts'
import { failedAttempts } from '../../rows/hour-rows.ts'
import { hourRow } from './hour-looks.ts'
import type { RowReader } from './known-metrics.ts'

interface ProvenanceOfHour extends Omit<Provenance, 'hosts'> {
  readonly hosts: string
}

/** As `OperatorStore.origin`. */
export async function hourOrigin(reading: RowReader, collector: string, hour: Hour): Promise<HourOrigin | undefined> {
  const row = await hourRow(reading, collector, hour)
  if (!row) return undefined
  const [failed, provenance, pinned] = await Promise.all([
    failedOf(reading, collector, hour),
    provenanceOf(reading, collector, hour),
    pinnedBlocks(reading, collector, hour),
  ])
  const others = Object.keys(provenance?.hosts ?? {})
    .map(Number)
    .filter(id => !pinned.some(({ chainId }) => chainId === id))
  const final = await finalBlocks(reading, others, hour)
  return { ...row, failed, ...(provenance && { provenance }), blocks: [...pinned, ...final] }
}

async function failedOf(reading: RowReader, collector: string, hour: Hour): Promise<FailedAttempt[]> {
  const [row] = await reading.query<{ failures: string | null }>(
    `SELECT failures FROM tidegauge.collection JOIN tidegauge.collector ON collector.id = collection.collector
     WHERE hour = $1 AND collector.name = $2`,
    [hourNumber(hour), collector],
  )
  return failedAttempts(row?.failures ?? null)
}

async function provenanceOf(reading: RowReader, collector: string, hour: Hour): Promise<Provenance | undefined> {
  const [row] = await reading.query<ProvenanceOfHour>(
    `SELECT provenance.version, provenance.code, provenance.options, provenance.hosts FROM tidegauge.collection
       JOIN tidegauge.collector ON collector.id = collection.collector
       JOIN tidegauge.provenance ON provenance.id = collection.provenance
     WHERE collection.hour = $1 AND collector.name = $2`,
    [hourNumber(hour), collector],
  )
  return row && { ...row, hosts: jsonOf(row.hosts) as Provenance['hosts'] }
}

type RawBlock = BlockRow & { readonly chain: number }

async function pinnedBlocks(reading: RowReader, collector: string, hour: Hour): Promise<OriginBlock[]> {
  const rows = await reading.query<RawBlock>(
    `SELECT pin.chain, pin.number, pin.hash, pin.timestamp FROM tidegauge.pin
       JOIN tidegauge.collector ON collector.id = pin.collector
     WHERE pin.hour = $1 AND collector.name = $2 ORDER BY pin.chain`,
    [hourNumber(hour), collector],
  )
  return rows.filter(({ hash }) => hash.some(byte => byte !== 0)).map(row => originBlock(row, false))
}

async function finalBlocks(reading: RowReader, chains: readonly number[], hour: Hour): Promise<OriginBlock[]> {
  if (chains.length === 0) return []
  const rows = await reading.query<RawBlock>(
    'SELECT chain, number, hash, timestamp FROM tidegauge.final_block WHERE chain = ANY($1::bigint[]) AND hour = $2',
    [chains, hourNumber(hour)],
  )
  return chains.flatMap(chain => rows.filter(row => row.chain === chain).map(row => originBlock(row, true)))
}

function originBlock({ chain, ...block }: RawBlock, isFinal: boolean): OriginBlock {
  return { chainId: chain, block: blockOf(block), isFinal }
}
