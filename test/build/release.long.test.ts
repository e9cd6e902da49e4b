import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

interface Job {
  readonly steps: readonly { readonly run?: string }[]
  readonly permissions?: Readonly<Record<string, string>>
  readonly environment?: string
}

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
    const files = [
      'package.json',
      '*.md',
      '.github/**/*.{yml,md}',
      '.github/CODEOWNERS',
      'docs/**/*.{md,yml,yaml}',
    ].flatMap(pattern => globSync(pattern, { cwd: root }))
    const owners = files.flatMap(file =>
      [...textOf(file).matchAll(/(?:github\.com\/|ghcr\.io\/)([^/\s]+)\/tidegauge\b|^\* @(\S+)$/gm)].map(
        ([, owner, reviewer]) => owner ?? reviewer,
      ),
    )
    expect(owners.length).toBeGreaterThan(5)
    expect(new Set(owners).size).toBe(1)
  })
})

it('the SBOM has what is shipped, as a scanner takes it: bundled packages and SQLite, and none for development', () => {
  const printed = execFileSync(process.execPath, [`${root}src/build/sbom.ts`], { stdio: 'pipe' }).toString()
  const { metadata, components } = JSON.parse(printed) as {
    readonly metadata: { readonly component: { readonly name: string } }
    readonly components: readonly { readonly name: string; readonly version: string; readonly licenses?: unknown }[]
  }
  expect(metadata.component.name).toBe(name)
  const names = components.map(component => component.name)
  expect(names).toEqual(expect.arrayContaining(['viem', 'fastify', 'pg', 'better-sqlite3', 'zod', 'sqlite']))
  expect(names).not.toContain('vitest')
  expect(components.find(component => component.name === 'sqlite')?.version).toMatch(/^3\.\d+\.\d+$/)
  // Anybody may ship these in a program of their own.
  const isFree = (licenses: unknown) =>
    /^\[\{"license":\{"id":"(MIT|ISC|Apache-2\.0|BSD-\d-Clause|0BSD|BlueOak-1\.0\.0|blessing)"/.test(
      JSON.stringify(licenses),
    )
  expect(components.filter(({ licenses }) => !isFree(licenses))).toEqual([])
  expect(printed).not.toMatch(/cdx:npm:package:(development|private)/)
})

describe('the workflows', () => {
  it.each(workflows)('%s names actions by commit, and may write nothing by default', file => {
    const used = [...textOf(file).matchAll(/uses: (\S+)/g)].map(([, action = '']) => action)
    expect(used.filter(action => !/@[0-9a-f]{40}$/.test(action))).toEqual([])
    expect(textOf(file)).toMatch(/^permissions:\n {2}contents: read$/m)
  })

  it('give no job that runs code of dependencies more than it needs to read', () => {
    const jobs = Object.values((parse(textOf('.github/workflows/release.yml')) as { jobs: Record<string, Job> }).jobs)
    const runsCode = ({ steps }: Job) => steps.some(({ run = '' }) => /npm (ci|install|test|run)|node /.test(run))
    expect(jobs.filter(runsCode).map(({ permissions }) => permissions)).toEqual([undefined])
    const writing = jobs.filter(({ permissions }) => permissions !== undefined)
    expect(writing.map(({ environment }) => environment)).toEqual(writing.map(() => 'release'))
  })

  it('pin the base that the Dockerfile names, as the release looks for it', () => {
    const bases = [...textOf('Dockerfile').matchAll(/^FROM (node:\S+) /gm)].map(([, base]) => base)
    expect(new Set(bases).size).toBe(1)
    expect(textOf('.github/workflows/release.yml')).toContain(String.raw`s/^FROM \(node:[^ ]*\) .*/\1/p`)
  })
})
