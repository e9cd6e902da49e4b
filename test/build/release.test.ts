import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const textOf = (file: string) => readFileSync(`${root}${file}`, 'utf8')

const { name, version } = JSON.parse(textOf('package.json')) as { readonly name: string; readonly version: string }
const workflows = globSync('.github/workflows/*.yml', { cwd: root })

describe('what a release says', () => {
  it.each(['README.md', 'docs/install.md'])('%s names the tarball of this version alone', file => {
    const named = [...textOf(file).matchAll(/tidegauge-(\d\S*)\.tgz/g)].map(([, of]) => of)
    expect(new Set(named)).toEqual(new Set([version]))
  })

  it('the changelog and the lock file have this version', () => {
    expect(textOf('CHANGELOG.md')).toContain(`\n## [${version}] - 20`)
    expect(JSON.parse(textOf('package-lock.json'))).toMatchObject({
      name,
      version,
      packages: { '': { name, version } },
    })
  })

  it('names one owner everywhere', () => {
    const files = ['package.json', '*.md', '.github/**/*.{yml,md}', 'docs/**/*.{md,yml,yaml}'].flatMap(pattern =>
      globSync(pattern, { cwd: root }),
    )
    const owners = files.flatMap(file =>
      [...textOf(file).matchAll(/(?:github\.com\/|github:|ghcr\.io\/|oci:\/\/ghcr\.io\/)([^/\s]+)\/tidegauge\b/g)].map(
        ([, owner]) => owner,
      ),
    )
    expect(owners.length).toBeGreaterThan(5)
    expect(new Set(owners).size).toBe(1)
  })
})

describe('the workflows', () => {
  it.each(workflows)('%s names actions by commit, and may write nothing by default', file => {
    const used = [...textOf(file).matchAll(/uses: (\S+)/g)].map(([, action = '']) => action)
    expect(used.filter(action => !/@[0-9a-f]{40}$/.test(action))).toEqual([])
    expect(textOf(file)).toMatch(/^permissions:\n {2}contents: read$/m)
  })

  it('pin the base that the Dockerfile names, as the release looks for it', () => {
    const bases = [...textOf('Dockerfile').matchAll(/^FROM (node:\S+) /gm)].map(([, base]) => base)
    expect(new Set(bases).size).toBe(1)
    expect(textOf('.github/workflows/release.yml')).toContain(String.raw`s/^FROM \(node:[^ ]*\) .*/\1/p`)
  })
})
