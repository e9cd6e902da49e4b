import { execFileSync, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { temporaryFolder } from '../support/folder.ts'
import { freePort } from '../support/free-port.ts'
import { mayMount, smallDisk } from '../support/small-disk.ts'
import { configured, start, tidegauge, untilNextLook } from '../support/tidegauge.ts'
import { mayBeUnprivileged, unprivileged } from '../support/unprivileged.ts'

const main = fileURLToPath(new URL('../../src/bin.cjs', import.meta.url))

async function staged(data: string) {
  const port = await freePort()
  const yaml = `service: embedded
data: ${data}
status: { listen: "127.0.0.1:${port}" }
protocols: [{ id: this-machine, name: This machine, collectors: [{ use: host }] }]
`
  return { ...configured(yaml), url: `http://127.0.0.1:${port}` }
}

/** A daemon, whether it comes to run or not. */
function daemonOn(config: string) {
  const child = start(['run', '--config', config], {})
  const lines: string[] = []
  let wake = Promise.withResolvers<void>()
  if (child.stderr)
    createInterface({ input: child.stderr }).on('line', line => {
      lines.push(line)
      wake.resolve()
      wake = Promise.withResolvers()
    })
  const count = (message: string) => lines.filter(line => line.includes(message)).length
  return {
    child,
    lines,
    /** Resolves once a message was logged so many times. */
    async logged(message: string, times = 1) {
      while (count(message) < times) await wake.promise
    },
  }
}

/** The daemon's answer while it waits; asked until it does. */
async function askedUntil(url: string, fits: (status: number, text: string) => boolean): Promise<string> {
  for (;;) {
    const answer = await fetch(url).catch(() => undefined)
    const text = (await answer?.text()) ?? ''
    if (answer && fits(answer.status, text)) return text
    await untilNextLook()
  }
}

const waits = 'the outbox cannot be opened yet: the daemon waits for it'

async function expectWaiting(url: string, words: RegExp, cause: string): Promise<void> {
  const text = await askedUntil(`${url}/readyz`, (status, text) => status === 503 && words.test(text))
  expect(JSON.parse(text)).toMatchObject({ ready: false, causes: [cause] })
  expect(await askedUntil(`${url}/livez`, status => status === 200)).toBe('live\n')
  expect(await askedUntil(`${url}/`, status => status === 503)).toMatch(words)
  expect(await askedUntil(`${url}/metrics`, status => status === 200)).toContain('tidegauge_ready 0')
}

describe.skipIf(!mayMount)('a daemon on a volume that is read-only (needs the right to mount one)', () => {
  it('waits for it from its start, says so, and runs as soon as it is writable; commands that write say it, too, and others read', async () => {
    const { folder } = smallDisk(64)
    const remount = (how: string) => execFileSync('mount', ['-o', `remount,${how}`, folder], { stdio: 'pipe' })
    const { config, url } = await staged(folder)
    mkdirSync(join(folder, 'embedded'))
    new SqliteOutbox(join(folder, 'embedded', 'outbox.db')).close()
    remount('ro')
    for (const words of [['status'], ['dead', 'ls'], ['gaps'], ['due', 'ls']]) {
      const { code, stdout } = await tidegauge([...words, '--config', config])
      expect({ words, code, stdout }).toMatchObject({
        words,
        code: expect.toBeOneOf([0, 1]),
        stdout: expect.stringMatching(/\w/),
      })
    }
    const copy = join(temporaryFolder(), 'copy.db')
    expect(await tidegauge(['backup', copy, '--config', config])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/copy\.db: \d+ KiB, checked and on disk\n$/),
    })
    for (const words of [['flush'], ['due', 'drop', '--all'], ['collect']]) {
      const { code, stdout, stderr } = await tidegauge([...words, '--config', config])
      expect({ words, code, stdout }).toEqual({ words, code: 1, stdout: '' })
      expect(stderr).toMatch(
        /^tidegauge: cannot use the .+\.db: .+: the file system is read-only\n {2}→ make it writable/,
      )
    }
    const daemon = daemonOn(config)
    await daemon.logged(waits)
    await expectWaiting(url, /the file system is read-only – make it writable again/, 'read-only')
    remount('rw')
    await daemon.logged('"running"')
    await askedUntil(`${url}/readyz`, status => status === 200)
    for (const line of daemon.lines) expect(() => JSON.parse(line), line).not.toThrow()
    daemon.child.kill('SIGTERM')
    expect((await once(daemon.child, 'close'))[0]).toBe(0)
  })
})

describe.skipIf(!mayMount)('a volume that is unmounted under a daemon (needs the right to mount one)', () => {
  it('is waited for, nothing is made below it, and what is due is there when it is mounted again', async () => {
    const { folder: volume } = smallDisk(64)
    const data = mkdtempSync(join(tmpdir(), 'tidegauge-volume-'))
    const mount = () => execFileSync('mount', ['--bind', volume, data], { stdio: 'pipe' })
    const unmount = () => execFileSync('umount', ['-l', data], { stdio: 'pipe' })
    onTestFinished(() => rmSync(data, { recursive: true }))
    mount()
    const { config, url } = await staged(data)
    const daemon = daemonOn(config)
    await daemon.logged('"delivered"')
    unmount()
    await daemon.logged(waits)
    await expectWaiting(url, /the data folder .+ is gone: was its volume unmounted\? – mount it again/, 'outbox-unread')
    expect(readdirSync(data)).toEqual([])
    mount()
    await daemon.logged('"running"', 2)
    await askedUntil(`${url}/readyz`, status => status === 200)
    const { stdout } = await tidegauge(['status', '--json', '--config', config])
    unmount()
    expect(JSON.parse(stdout)).toMatchObject({ balance: { due: 0, dead: 0 } })
    expect(JSON.parse(stdout).balance.delivered).toBeGreaterThan(0)
    daemon.child.kill('SIGTERM')
    expect((await once(daemon.child, 'close'))[0]).toBe(0)
    expect(readdirSync(data)).toEqual([])
  })
})

describe.skipIf(!mayBeUnprivileged())('a user without rights (needs root, and sources that others may read)', () => {
  it.each([
    ['the folder', (data: string) => chmodSync(data, 0), ''],
    ['the file', (data: string) => chmodSync(join(data, 'outbox.db'), 0o400), 'outbox.db'],
    ['the file, not even to read', (data: string) => chmodSync(join(data, 'outbox.db'), 0), 'outbox.db'],
    ['the log', (data: string) => chmodSync(join(data, 'outbox.db-wal'), 0), 'outbox.db-wal'],
    ['the lock', (data: string) => chmodSync(join(data, 'lock.db'), 0), 'lock.db'],
  ])('to %s is refused, with the path and what to do', async (_, take, name) => {
    const folder = mkdtempSync(join(tmpdir(), 'tidegauge-rights-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const data = join(folder, 'data', 'embedded')
    mkdirSync(data, { recursive: true })
    const outbox = new SqliteOutbox(join(data, 'outbox.db'))
    onTestFinished(() => outbox.close())
    for (const lock of ['lock.db', 'daemon.db']) writeFileSync(join(data, lock), '')
    const config = join(folder, 'tidegauge.yaml')
    writeFileSync(
      config,
      `service: embedded\ndata: data\nprotocols: [{ id: a, name: A, collectors: [{ use: host }] }]\n`,
    )
    const parts = ['outbox.db', 'outbox.db-wal', 'outbox.db-shm', 'lock.db', 'daemon.db'].map(part => join(data, part))
    for (const path of [folder, join(folder, 'data'), data, config, ...parts])
      chownSync(path, unprivileged.uid, unprivileged.gid)
    take(data)
    const options = { ...unprivileged, encoding: 'utf8' } as const
    const { status, stdout, stderr } = spawnSync(process.execPath, [main, 'collect', '--config', config], options)
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toMatch(
      /^tidegauge: cannot use the .+: this user may not read and write it\n {2}→ give it to uid 65534, which runs this: chown -R 65534 \//,
    )
    expect(stderr).toContain(join(data, name))
    expect(stderr).not.toMatch(/ at |SQLITE/)
  })
})

it.runIf(mayBeUnprivileged())(
  'a user who may not look into the data folder gets no answer that says that nothing is there',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidegauge-rights-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    chmodSync(folder, 0o755)
    const config = join(folder, 'tidegauge.yaml')
    const collectors = '[{ use: host, options: { disk: / } }]'
    writeFileSync(
      config,
      `service: embedded\ndata: ./data\nprotocols: [{ id: a, name: A, collectors: ${collectors} }]\n`,
    )
    const [from, id] = ['2026-01-01T00:00:00Z', 'a___DiskFree']
    const commands = [
      ...[
        'status',
        'gaps',
        'held',
        'dead',
        'due',
        'warnings',
        'lists',
        `history ${id}`,
        `explain ${id}`,
        'verify',
        'collect',
      ],
      ...[
        `export --from ${from} --to ${from}`,
        `backfill --plan --from ${from}`,
        `backup ${join(tmpdir(), randomUUID())}`,
        'diff',
      ],
    ]
    const asOther = (line: string) =>
      spawnSync(process.execPath, [main, ...line.split(' '), '--config', config], { ...unprivileged, encoding: 'utf8' })
    spawnSync(process.execPath, [main, 'collect', '--config', config])
    for (const mode of [0o700, 0o600, 0o500]) {
      chmodSync(join(folder, 'data'), mode)
      for (const line of commands) {
        const { status, stdout, stderr } = asOther(line)
        expect([line, /\d|no |nothing/.test(stdout), status === 0], stderr).toEqual([line, false, false])
        expect(stderr, line).toContain('this user may not read and write it')
      }
      const doctor = asOther('doctor').stdout
      expect(doctor).toMatch(/✖ disk: .*\n! outbox: cannot be looked at: .*\n✖ daemon: cannot be looked for: /)
      expect(doctor).not.toContain('is not there yet')
    }
  },
)

it('a folder that is away while the configuration is mended leaves no refusal behind', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [data, away] = [join(folder, 'data'), join(folder, 'away')]
  const { config, url } = await staged(data)
  const { child, logged } = daemonOn(config)
  await logged('"msg":"running"')
  const mended = readFileSync(config, 'utf8')
  writeFileSync(config, mended.replace('use: host', 'use: hots'))
  child.kill('SIGHUP')
  await logged('the new configuration is refused')
  renameSync(data, away)
  writeFileSync(config, mended)
  child.kill('SIGHUP')
  await logged(waits)
  renameSync(away, data)
  await askedUntil(`${url}/status.json`, (_, text) => {
    const { configuration } = text === '' ? {} : JSON.parse(text)
    return configuration !== undefined && configuration.refused === undefined
  })
})
