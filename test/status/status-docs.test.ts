import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { exposition } from '../../src/status/exposition/exposition.ts'
import { snapshotFamilies } from '../../src/status/exposition/families.ts'
import { statusFormat, statusJson } from '../../src/status/json.ts'
import { readinessCauses } from '../../src/status/snapshot.ts'
import { richScrape, richSnapshot } from '../support/snapshot.ts'

const snapshotText = (scrape: Parameters<typeof snapshotFamilies>[0]) => exposition(snapshotFamilies(scrape))

const text = readFileSync(new URL('../../docs/status.md', import.meta.url), 'utf8')
/** Names in backticks in the first cells of the table below a heading. */
const namesBelow = (heading: string) => {
  const [, section = ''] = text.split(`## ${heading}\n`)
  const rows = (section.split('\n## ')[0] ?? '').match(/^\| `.*$/gm) ?? []
  return rows.flatMap(row => [...(row.split('|')[1] ?? '').matchAll(/`(\w[\w-]*)`/g)].map(([, name]) => name))
}

it('docs/status.md has every field of status.json, and its format', () => {
  expect(namesBelow('`/status.json`').sort()).toEqual(Object.keys(statusJson(richSnapshot)).sort())
  expect(text).toContain(`version of this form, now ${statusFormat}.`)
})

it('docs/status.md has every metric with its description', () => {
  const families = [...snapshotText(richScrape).matchAll(/^# HELP (\w+) (.*)$/gm)]
  expect(namesBelow('`/metrics`')).toEqual(families.map(([, name]) => name))
  for (const [, , help] of families) expect(text).toContain(` | ${help} |`)
})

it('docs/status.md has every cause of a red readiness', () => {
  expect(namesBelow('`/livez` and `/readyz`')).toEqual(readinessCauses)
})
