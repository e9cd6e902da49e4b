import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Dice, dice } from '../../../../src/devchain/dice.ts'
import { hourMs } from '../../../../src/model/limits.ts'
import { openSalvaged } from '../../../../src/outbox/open.ts'
import { backlogOf } from '../../../../src/outbox/store/values.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { anHour } from '../../../support/metrics.ts'
import { repetitions } from '../../../support/soak.ts'
import { atOnce } from '../../../support/stored-hours.ts'
import { contentsOf, flawsOf } from '../../support/contents.ts'

const writerFile = fileURLToPath(new URL('../../support/writer.ts', import.meta.url))
const seeds = Array.from({ length: repetitions({ test: 1, soak: 12 }) }, (_, index) => index + 1)
const cuts = repetitions({ test: 8, soak: 25 })

/** An hour that was acknowledged: how many metrics, and how long the log was then. */
interface Acknowledged {
  readonly hour: number
  readonly walBytes: number
  readonly metrics: number
}

interface Writer {
  readonly file: string
  readonly child: ChildProcess
  readonly acknowledged: Acknowledged[]
  /** Resolves when so many are acknowledged, or all are. */
  until(count: number): Promise<void>
}

function writing(seed: number): Writer {
  const file = join(temporaryFolder(), 'outbox.db')
  const child = spawn(process.execPath, [writerFile, file, String(seed)], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const acknowledged: Acknowledged[] = []
  let [isDone, wake] = [false, () => {}]
  createInterface({ input: child.stdout ?? process.stdin }).on('line', line => {
    const [hour = 0, walBytes = 0, metrics = 0] = line.split(' ').map(Number)
    if (line === 'done') isDone = true
    else acknowledged.push({ hour, walBytes, metrics })
    wake()
  })
  return {
    file,
    child,
    acknowledged,
    async until(count) {
      while (!isDone && acknowledged.length < count) await new Promise<void>(resolve => (wake = resolve))
    },
  }
}

/** The file and its log as they are at an instant. */
function copied(file: string): string {
  const copy = join(temporaryFolder(), 'outbox.db')
  for (const part of ['', '-wal']) if (existsSync(`${file}${part}`)) copyFileSync(`${file}${part}`, `${copy}${part}`)
  return copy
}

/** Opens it as a daemon does after the power came back. */
function revived(file: string, expected: readonly Acknowledged[]): void {
  const { outbox } = openSalvaged(file, { nowMs: anHour, keepMs: 35 * 24 * hourMs, collectors: [] })
  const { enqueued } = atOnce(outbox, backlogOf).balance
  outbox.close()
  expect(flawsOf(file)).toEqual([])
  const { rows, hours } = contentsOf(file)
  expect(rows.size).toBe(enqueued)
  const states = expected.map(({ hour }) => hours.get(`${hour} vault/c`)?.state)
  expect(states, 'every acknowledged hour is there').toEqual(expected.map(() => 1))
  const missing = expected.filter(({ hour, metrics }) =>
    Array.from({ length: metrics }, (_, index) => rows.get(`${hour} vault___M${index}`)?.value).some(
      (value, index) => value !== index,
    ),
  )
  expect(missing).toEqual([])
}

/** Blocks on the disk of all that was written after a place: any of its blocks may be missing. */
function tear(file: string, from: number, rolls: Dice): void {
  const bytes = readFileSync(file)
  for (let at = Math.ceil(from / 512) * 512; at < bytes.length; at += 512) {
    if (rolls.roll() < 0.3) bytes.fill(0, at, Math.min(at + 512, bytes.length))
  }
  writeFileSync(file, bytes)
}

describe.each(seeds)('a power cut, seed %i', seed => {
  it('at any moment of writing leaves every acknowledged hour', async () => {
    const rolls = dice(seed)
    const { file, child, acknowledged, until } = writing(seed)
    for (let count = rolls.whole(1, 9); count < 80; count += rolls.whole(5, 30)) {
      await until(count)
      child.kill('SIGSTOP')
      // Acknowledgements may still be on their way here: at least this much was.
      const known = [...acknowledged]
      const copy = copied(file)
      child.kill('SIGCONT')
      revived(copy, known)
    }
  })

  it('that cuts off or tears the log anywhere leaves every hour that was acknowledged before that place', async () => {
    const rolls = dice(seed)
    const { file, child, acknowledged, until } = writing(seed)
    await until(Number.POSITIVE_INFINITY)
    const template = copied(file)
    child.kill('SIGKILL')
    await once(child, 'close')
    for (let cut = 0; cut < cuts; cut += 1) {
      const copy = copied(template)
      const place = rolls.whole(0, readFileSync(`${copy}-wal`).length)
      const kept = acknowledged.filter(({ walBytes }) => walBytes <= place)
      if (rolls.roll() < 0.5) truncateSync(`${copy}-wal`, place)
      else tear(`${copy}-wal`, Math.max(place, kept.at(-1)?.walBytes ?? 32), rolls)
      revived(copy, kept)
    }
  })
})
