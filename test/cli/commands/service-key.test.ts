import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemTime } from '../../../src/edge/time.ts'
import { openStore } from '../../../src/reference/store.ts'
import { command } from '../../support/command.ts'
import { temporaryFolder } from '../../support/folder.ts'

function trial() {
  const folder = temporaryFolder()
  const [file, out] = [join(folder, 'service.db'), join(folder, 'secrets', 'metrics_key')]
  const key = (...args: readonly string[]) => command(['service', 'key', ...args, '--file', file])
  return { folder, file, out, key }
}

function owners(file: string, key: string): string | undefined {
  const store = openStore(file, systemTime)
  onTestFinished(() => store.close())
  return store.keys.find(key)?.name
}

describe('a key of the reference service', () => {
  it('is written into a file that its owner alone can read, and not shown', async () => {
    const { file, out, key } = trial()
    const { code, stdout, stderr } = await key('create', 'phone', '--out', out)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(statSync(out).mode & 0o777).toBe(0o600)
    expect(statSync(join(out, '..')).mode & 0o777).toBe(0o700)
    const secret = readFileSync(out, 'utf8').trim()
    expect(owners(file, secret)).toBe('phone')
    expect(stdout).not.toContain(secret)
    expect(stdout).toContain(`key: { file: ${out} }`)
  })

  it('replaces no file without --force, and then leaves no other behind', async () => {
    const { file, out, key } = trial()
    await key('create', '--out', out)
    const first = readFileSync(out, 'utf8')
    const again = await key('create', 'again', '--out', out)
    expect(again).toMatchObject({ code: 2, stdout: '' })
    expect(again.stderr).toContain('already exists')
    expect(readFileSync(out, 'utf8')).toBe(first)
    expect((await key('ls')).stdout).not.toContain('again')
    expect(await key('rotate', 'local', '--out', out, '--force')).toMatchObject({ code: 0 })
    const next = readFileSync(out, 'utf8').trim()
    expect([owners(file, first.trim()), owners(file, next)]).toEqual([undefined, 'local'])
    expect(readdirSync(join(out, '..'))).toEqual(['metrics_key'])
    expect(statSync(out).mode & 0o777).toBe(0o600)
  })

  it('is not made when its file cannot be', async () => {
    const { folder, out, key } = trial()
    writeFileSync(join(folder, 'secrets'), '')
    const { code, stderr } = await key('create', '--out', out)
    expect(code).toBe(2)
    expect(stderr).toMatch(/the key cannot be written into .*metrics_key/)
    mkdirSync(join(folder, 'real'))
    symlinkSync(join(folder, 'real', 'nowhere'), join(folder, 'link'))
    expect(await key('create', '--out', join(folder, 'link'))).toMatchObject({ code: 2 })
    expect(readdirSync(join(folder, 'real'))).toEqual([])
  })
})

it.each([
  ['key', 'ls'],
  ['key', 'revoke', 'x'],
  ['key', 'rotate', 'x'],
  ['protocol', 'public', 'x'],
])('service %s %s makes no file that is missing', async (...args) => {
  const { folder, file } = trial()
  const { code, stderr } = await command(['service', ...args.filter(Boolean), '--file', file])
  expect(code).toBe(2)
  expect(stderr).toContain(`the service has no file ${file}`)
  expect(existsSync(file)).toBe(false)
  expect(readdirSync(folder)).toEqual([])
})

it('a file that is not the service’s is reported as that', async () => {
  const { file, key } = trial()
  writeFileSync(file, 'not a database, but long enough to be looked at as one '.repeat(20))
  const { code, stderr } = await key('ls')
  expect(code).toBe(2)
  expect(stderr).toContain(`cannot open the service's file ${file}`)
  expect(stderr).not.toMatch(/^\s+at /m)
})

it('keys lie where neither git nor an image takes them', () => {
  const listed = (name: string) => readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8').split('\n')
  expect(listed('.gitignore')).toEqual(expect.arrayContaining(['my/', 'secrets/']))
  expect(listed('.dockerignore')).toEqual(expect.arrayContaining(['**/my', '**/secrets']))
})
