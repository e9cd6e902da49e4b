import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { mayMount, smallDisk } from '../support/small-disk.ts'
import { configured, tidegauge } from '../support/tidegauge.ts'

const hasRoomAndNoInode = 'a data folder on a disk that has room and no inode (needs the right to mount one)'

it.skipIf(!mayMount)(`${hasRoomAndNoInode} is said to be that, and is used once files are deleted`, async () => {
  const { folder } = smallDisk(60, 20)
  const data = join(folder, 'data')
  const { config } = configured(`service: embedded
data: ${data}
protocols: [{ id: this-machine, name: This machine, collectors: [{ use: host }] }]
`)
  const files = Array.from({ length: 19 }, (_, index) => join(folder, String(index)))
  for (const file of files) writeFileSync(file, '')
  const collect = () => tidegauge(['collect', '--config', config])

  const withoutFolder = await collect()
  rmSync(files[0] ?? '')
  mkdirSync(data)
  for (const { code, stderr } of [withoutFolder, await collect()]) {
    expect(code).toBe(1)
    expect(stderr).toContain('no inode is left (df -i')
    expect(stderr).not.toContain('MiB are free')
  }
  for (const file of files.slice(1)) rmSync(file)
  expect(await collect()).toMatchObject({ code: 0 })
})
