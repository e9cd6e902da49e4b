import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { checkOutboxFile, diskRoom } from '../../src/outbox/data-check.ts'
import { Ballast } from '../../src/outbox/sqlite/file/disk.ts'
import { temporaryFolder } from '../support/folder.ts'
import { mayMount, smallDisk } from '../support/small-disk.ts'
import { mayBeUnprivileged, unprivileged } from '../support/unprivileged.ts'

const module = new URL('../../src/outbox/data-check.ts', import.meta.url).href
const script = `import { checkOutboxFile } from '${module}'
console.log(JSON.stringify((await checkOutboxFile(process.argv[1])) ?? 'none'))`

/** Result for a user without rights. */
function seenUnprivileged(folder: string): unknown {
  const options = { ...unprivileged, cwd: '/', encoding: 'utf8' } as const
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', script, folder], options))
}

it('where nothing was made there is no outbox', async () => {
  expect(await checkOutboxFile(join(temporaryFolder(), 'data'))).toBe(undefined)
})

it.runIf(mayBeUnprivileged())('an outbox in a folder that another user closed is hidden, and not missing', () => {
  const place = temporaryFolder()
  chmodSync(place, 0o755)
  const folder = join(place, 'data')
  mkdirSync(folder, { mode: 0o700 })
  writeFileSync(join(folder, 'outbox.db'), 'x')
  expect(seenUnprivileged(folder)).toEqual({ bytes: 0, hidden: expect.stringContaining(folder) })
  expect(seenUnprivileged(join(place, 'elsewhere'))).toBe('none')
})

it.runIf(mayMount)('a disk has enough room while there is room for the ballast, or the ballast', async () => {
  const { folder, fill, empty } = smallDisk(40)
  expect(diskRoom(folder)).toMatchObject({ isEnough: true })
  fill()
  expect(diskRoom(folder)).toMatchObject({ free: 0, isEnough: false })
  empty()
  const ballast = new Ballast(folder)
  expect(await ballast.make()).toBe(true)
  const { free = 0, least = 0, isEnough } = diskRoom(folder) ?? {}
  expect([free < least, isEnough]).toEqual([true, true])
  fill()
  expect(diskRoom(folder), 'the ballast is there, and the next hour has no room').toMatchObject({ isEnough: false })
})
