import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { DataFolders } from '../../src/outbox/data-folders.ts'
import { daemonHolder, takeDaemonRole } from '../../src/outbox/roles.ts'
import { temporaryFolder } from '../support/folder.ts'

/** A data folder with an outbox that was opened by this process. */
function stage() {
  const parent = temporaryFolder()
  const folder = join(parent, 'data')
  mkdirSync(folder)
  const outbox = join(folder, 'outbox.db')
  writeFileSync(outbox, 'rows')
  const place = new DataFolders()
  expect(() => place.require(folder)).not.toThrow()
  place.opened(folder)
  return { folder, outbox, aside: join(parent, 'aside'), place }
}

type Stage = ReturnType<typeof stage>

describe('the data folder of a process that had it open', () => {
  it.each<[string, (stage: Stage) => void]>([
    ['as it was', () => {}],
    ['without its outbox: somebody has removed it', ({ outbox }) => rmSync(outbox)],
    [
      'with another outbox: somebody has put it there',
      ({ outbox }) => {
        renameSync(outbox, `${outbox}.old`)
        writeFileSync(outbox, 'others')
      },
    ],
    [
      'moved away and back',
      ({ folder, aside }) => {
        renameSync(folder, aside)
        renameSync(aside, folder)
      },
    ],
    [
      'another one with the same outbox, as a volume that is mounted again',
      ({ folder, outbox, aside }) => {
        renameSync(folder, aside)
        mkdirSync(folder)
        renameSync(join(aside, 'outbox.db'), outbox)
      },
    ],
  ])('is opened %s', (_, change) => {
    const staged = stage()
    change(staged)
    expect(() => staged.place.require(staged.folder)).not.toThrow()
  })

  it.each<[string, (stage: Stage) => void, RegExp]>([
    ['is gone', ({ folder, aside }) => renameSync(folder, aside), / is gone: was its volume unmounted\?$/],
    [
      'is an empty one now',
      ({ folder, aside }) => {
        renameSync(folder, aside)
        mkdirSync(folder)
      },
      / is not the one that was open: was its volume unmounted\?$/,
    ],
    [
      'is another one with an outbox of its own',
      ({ folder, aside }) => {
        renameSync(folder, aside)
        cpSync(aside, folder, { recursive: true })
      },
      / is not the one that was open: /,
    ],
  ])('is waited for where it %s, with what to do', (_, change, words) => {
    const staged = stage()
    change(staged)
    const look = () => staged.place.require(staged.folder)
    expect(look).toThrow(words)
    expect(look).toThrow(expect.objectContaining({ code: 'outbox-unusable', fix: expect.stringMatching(/restart/) }))
    expect(() => new DataFolders().require(staged.folder), 'a process that starts').not.toThrow()
  })
})

it('a role of another container names its host, and one of this machine does not', () => {
  const dataFolder = temporaryFolder()
  const role = takeDaemonRole(dataFolder, 'a.yaml', 0)
  onTestFinished(() => role.release())
  expect(daemonHolder(dataFolder)).toEqual({ pid: process.pid, since: '1970-01-01T00:00:00.000Z', config: 'a.yaml' })
  const tellFile = join(dataFolder, 'daemon.json')
  const elsewhere = { ...JSON.parse(readFileSync(tellFile, 'utf8')), pid: 1, host: '7d0f3e6c11aa' }
  writeFileSync(tellFile, JSON.stringify(elsewhere))
  expect(() => takeDaemonRole(dataFolder, 'b.yaml', 0)).toThrow(
    expect.objectContaining({ code: 'outbox-held', facts: expect.objectContaining({ pid: 1, host: '7d0f3e6c11aa' }) }),
  )
})
