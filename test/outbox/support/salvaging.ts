import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { dice } from '../../../src/devchain/dice.ts'
import { hourMs } from '../../../src/model/limits.ts'
import { type OpenDeps, type Opened, openSalvaged } from '../../../src/outbox/open.ts'
import { SqliteOutbox } from '../../../src/outbox/sqlite/sqlite-outbox.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { anHour } from '../../support/metrics.ts'
import { type Contents, contentsOf, flawsOf } from './contents.ts'
import { collectorIds, fill } from './filled.ts'

/** When a damaged outbox is opened. */
export const nowMs = anHour + 60_000

/** Dependencies with which the daemon opens the outbox of a file. */
export const openDeps = (file: string): OpenDeps => ({
  place: { kind: 'folder', folder: dirname(file) },
  config: 'tidegauge.yaml',
  nowMs,
  keepMs: 35 * 24 * hourMs,
  collectors: collectorIds,
})

/** A closed outbox and what is in it. */
export interface Sound {
  readonly file: string
  readonly contents: Contents
}

/** @returns makes an outbox of 60 hours in all states, the same each time; a test file asks for it at its top */
export function soundOutboxes(): () => Sound {
  const templates = mkdtempSync(join(tmpdir(), 'tidegauge-test-'))
  const template = join(templates, 'outbox.db')
  let contents: Contents = { rows: new Map(), hours: new Map() }

  beforeAll(async () => {
    const outbox = new SqliteOutbox(template)
    await fill(outbox, dice(7), 60)
    outbox.close()
    expect(flawsOf(template)).toEqual([])
    contents = contentsOf(template)
  })

  afterAll(() => rmSync(templates, { recursive: true, force: true }))

  return () => {
    const file = join(temporaryFolder(), 'outbox.db')
    copyFileSync(template, file)
    return { file, contents }
  }
}

/** Opens it as the daemon does, closes it, and checks that it is as sound as any. */
export function mended(file: string, damage?: string): Opened['salvaged'] {
  const { outbox, salvaged } = openSalvaged(file, openDeps(file), damage)
  outbox.close()
  expect(flawsOf(file)).toEqual([])
  return salvaged
}
