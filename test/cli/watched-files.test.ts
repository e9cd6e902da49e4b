import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { WatchedFiles } from '../../src/cli/watch-files.ts'
import { loadConfig } from '../../src/config/load.ts'
import { configured, hostYaml } from '../support/tidegauge.ts'

const included = (use: string) => `protocols: [{ id: b, name: B, collectors: [{ use: ${use} }] }]\n`

/** A configuration that includes `p/a.yaml`, whose collector is `p/own.ts`. */
function trial() {
  const { config } = configured(`${hostYaml}include: ["p/**/*.yaml"]\n`)
  const path = (name: string) => join(dirname(config), name)
  mkdirSync(path('p'))
  writeFileSync(path('p/a.yaml'), included('./own.ts'))
  const loaded = loadConfig(config)
  const asked: (readonly string[])[] = []
  const secrets = [path('key')]
  const watched = new WatchedFiles(loaded, files => asked.push(files), { secrets })
  return { config: loaded, path, watched, asked }
}

describe('the watched files', () => {
  it('are the configuration, what it includes, the collectors next to these, and the folders of the patterns', () => {
    const { config, path, asked } = trial()
    expect(asked.at(-1)?.toSorted()).toEqual([
      ...[path('key'), path('p'), path('p/a.yaml'), path('p/own.ts')],
      config.file,
    ])
  })

  it.each([
    ['an included file changes', path => writeFileSync(path('p/a.yaml'), included('host'))],
    ['its collector appears', path => writeFileSync(path('p/own.ts'), 'export default 1')],
    ['a file that matches appears', path => writeFileSync(path('p/b.yaml'), '')],
    ['a file that matches vanishes', path => rmSync(path('p/a.yaml'))],
    ['a link that matches appears', path => symlinkSync(path('p/a.yaml'), path('p/c.yaml'))],
  ] as [string, (path: (name: string) => string) => void][])('have changed once where %s', (_, change) => {
    const { path, watched } = trial()
    expect(watched.haveChanged()).toBe(false)
    change(path)
    expect([watched.haveChanged(), watched.haveChanged()]).toEqual([true, false])
  })

  it('are also what a collector imports, but not the data that it names', () => {
    const { path, watched } = trial()
    writeFileSync(path('p/own.ts'), "import './abi.ts'\nread('./rates.json')")
    expect(watched.haveChanged()).toBe(true)
    writeFileSync(path('p/rates.json'), '{}')
    expect(watched.haveChanged()).toBe(false)
    writeFileSync(path('p/abi.ts'), 'export {}')
    expect(watched.haveChanged()).toBe(true)
  })

  it('tell a secret that appears or changes from a change of the configuration', () => {
    const { path, watched } = trial()
    const seen = () => [watched.haveChanged(), watched.haveSecretsChanged()]
    expect(seen()).toEqual([false, false])
    for (const secret of ['one', 'two']) {
      writeFileSync(path('key'), secret)
      expect(seen()).toEqual([false, true])
      expect(seen()).toEqual([false, false])
    }
  })

  it('have not changed for a new folder, in which a file is found nevertheless', () => {
    const { path, watched, asked } = trial()
    mkdirSync(path('p/sub'))
    expect(watched.haveChanged()).toBe(false)
    expect(asked.at(-1)).toContain(path('p/sub'))
    writeFileSync(path('p/sub/b.yaml'), '')
    expect(watched.haveChanged()).toBe(true)
  })

  it('include those of a refused configuration, where its mistake may be', () => {
    const { config, path, watched } = trial()
    const include = { pattern: path('q.yaml'), files: [path('q.yaml')], place: config.protocols[0]?.place }
    watched.watchAlso({ ...config, includes: [include as never] })
    writeFileSync(path('q.yaml'), included('host'))
    expect(watched.haveChanged()).toBe(true)
  })
})
