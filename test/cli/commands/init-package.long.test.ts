import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../support/folder.ts'
import { typedTidegauge as tidegauge } from './typed.ts'

describe('init', () => {
  it('writes over nothing, and where Node takes .ts for scripts the collectors are .mts', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }')
    const begun = await tidegauge(folder, 'init')
    expect(begun).toMatchObject({ code: 0, stderr: expect.stringContaining('left as it is: package.json') })
    expect(readFileSync(join(folder, 'package.json'), 'utf8')).toBe('{ "type": "commonjs" }')
    expect(existsSync(join(folder, 'collectors/age.mts'))).toBe(true)
    // Packages of a project that exists may need their scripts.
    expect(existsSync(join(folder, '.npmrc'))).toBe(false)
    expect(await tidegauge(folder, 'check')).toMatchObject({ code: 0 })
    writeFileSync(join(folder, 'tidegauge.yaml'), '# mine\n')
    writeFileSync(join(folder, '.npmrc'), '# mine\n')
    const again = await tidegauge(folder, 'init')
    expect(again.stderr).toMatch(/^there already, and left as it is: tidegauge.yaml, .*\.npmrc/m)
    expect(again.stdout).toContain('its page is where status.listen says\n')
    expect(readFileSync(join(folder, '.npmrc'), 'utf8')).toBe('# mine\n')
    expect(readFileSync(join(folder, 'tidegauge.yaml'), 'utf8')).toBe('# mine\n')
  })
})

it('init writes a test that fails where nothing is installed, whatever Node there is', async () => {
  const folder = temporaryFolder()
  expect(await tidegauge(folder, 'init')).toMatchObject({ code: 0 })
  const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  rmSync(join(folder, 'node_modules'), { recursive: true, force: true })
  // A Node that is too old runs no test, and ends with 0.
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'node'), '#!/bin/sh\n', { mode: 0o755 })
  const { status } = spawnSync('/bin/sh', ['-c', scripts.test], { cwd: folder, env: { PATH: bin } })
  expect(status).toBe(127)
})

describe('init --package', () => {
  it.each([
    ['tides', [], 'tidegauge-collector-tides', 'tidegauge-collector-tides'],
    ['tidegauge-collector-tides', ['own'], 'tidegauge-collector-tides', 'own'],
    ['@org/tides', [], '@org/tidegauge-collector-tides', 'tidegauge-collector-tides'],
    // A shipped collector has this name without the prefix: the two are never taken for one another.
    ['price', [], 'tidegauge-collector-price', 'tidegauge-collector-price'],
  ])('%s %j is the package %s in %s', async (given, words, name, folder) => {
    const above = temporaryFolder()
    const { code, stdout } = await tidegauge(above, 'init', ...words, '--package', given)
    const use = `use: ${name.startsWith('@') ? `"${name}"` : name}\n`
    expect([code, stdout]).toEqual([0, expect.stringContaining(use)])
    const read = (file: string) => readFileSync(join(above, folder, file), 'utf8')
    expect(JSON.parse(read('package.json'))).toMatchObject({
      name,
      keywords: expect.arrayContaining(['tidegauge-collector']),
      peerDependencies: { tidegauge: expect.stringMatching(/^\^\d/) },
    })
    expect(read('README.md')).toContain(use)
  })

  it('leaves the folder of a package of another scope alone', async () => {
    const above = temporaryFolder()
    await tidegauge(above, 'init', '--package', 'tides')
    const { code, stderr } = await tidegauge(above, 'init', '--package', '@org/tides')
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('is the folder of the package tidegauge-collector-tides'),
    ])
    expect(await tidegauge(above, 'init', '--package', '@org/tides', 'org')).toMatchObject({ code: 0 })
  })

  it.each(['', 'Tides', 'a/b', '../x', '@org/', 'tidegauge-collector-', 'a b', `${'x'.repeat(215)}`])(
    'refuses %j, and writes nothing',
    async given => {
      const folder = temporaryFolder()
      const { code, stderr } = await tidegauge(folder, 'init', '--package', given)
      expect([code, stderr]).toEqual([2, expect.stringContaining('a package is named with small letters')])
      expect(readdirSync(folder)).toEqual([])
    },
  )
})

describe('new NAME', () => {
  it.each([
    ['a name that exists', ['age'], 'collectors/age.ts exists'],
    ['no file name', ['../x'], 'a collector is named with'],
    ['both forms', ['x', '--chain', 'local'], 'by its name, or by --chain and --address'],
  ])('refuses %s', async (_, words, message) => {
    const folder = temporaryFolder()
    await tidegauge(folder, 'init')
    expect(await tidegauge(folder, 'new', ...words)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(message),
    })
  })

  it('needs a configuration', async () => {
    const { code, stderr } = await tidegauge(temporaryFolder(), 'new', 'x')
    expect([code, stderr]).toEqual([2, expect.stringContaining('tidegauge init')])
  })

  it('prints an entry with a chain that the configuration has', async () => {
    const folder = temporaryFolder()
    await tidegauge(folder, 'init')
    const own = 'service: embedded\nchains: { base: { id: 8453, rpc: [http://127.0.0.1:9] } }\n'
    writeFileSync(
      join(folder, 'tidegauge.yaml'),
      `${own}protocols:\n  - id: own\n    name: Own\n    collectors: # the entry comes here\n`,
    )
    expect((await tidegauge(folder, 'new', 'own')).stdout).toContain('options: { chain: base, token:')
  })

  it('writes no second collector of a name, whatever the first one ends with', async () => {
    const folder = temporaryFolder()
    await tidegauge(folder, 'init')
    const collectors = join(folder, 'collectors')
    writeFileSync(join(collectors, 'own.mjs'), '')
    expect(await tidegauge(folder, 'new', 'own')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('collectors/own.mjs exists, and nothing is written over'),
    })
    expect(readdirSync(collectors).filter(name => name.startsWith('own'))).toEqual(['own.mjs'])
  })
})
