import { readFileSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { contentsOf } from '../outbox/support/contents.ts'
import { betrayals } from '../outbox/support/damage.ts'
import { mended, soundOutboxes } from '../outbox/support/salvaging.ts'

const pageBytes = 4_096
const sound = soundOutboxes()

it('loses no hour when any other page lies where the page of the schema was', () => {
  const pages = readFileSync(sound().file).length / pageBytes
  expect(pages).toBeGreaterThan(20)
  for (let other = 2; other <= pages; other += 1) {
    const { file, contents } = sound()
    const bytes = readFileSync(file)
    // The first page keeps what it had before the schema grew: the schema's leaves follow it.
    const schema = Math.floor(bytes.indexOf('CREATE TABLE collection ', pageBytes) / pageBytes)
    bytes.copy(bytes, schema * pageBytes, (other - 1) * pageBytes, other * pageBytes)
    writeFileSync(file, bytes)
    mended(file, 'a test')
    expect(betrayals(contents, contentsOf(file)), `page ${other}`).toEqual([])
  }
})
