import { type ExecFileException, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../support/folder.ts'
import { freePort } from '../support/free-port.ts'
import { bareBin, cleanClone, ownPackage, packed, sharedFolder } from '../support/package.ts'
import type { Ended } from '../support/tidegauge.ts'
import { notRoot } from '../support/unprivileged.ts'
import { codeOf } from '../tidy/sources.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const bytesMax = 3_500_000
/** Room of an install on a disk of 4 KiB blocks, at most. */
const installedBytesMax = 60_000_000

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string }

const collector = `import { address, defineCollector, units, z } from 'tidegauge'
import { erc20Abi } from 'viem'
import { mainnet } from 'viem/chains'
import { z as own } from 'zod'
import { double } from 'own-dependency'

export default defineCollector({
  options: z.strictObject({ depth: own.number(), token: address.optional(), chain: z.string().optional() }),
  metrics: { Depth: { unit: 'm', min: 0 } },
  history: false,
  async collect({ options: { depth, token, chain: name }, chain }) {
    if (token && name) {
      return { Depth: units(await chain(name).read({ address: token, abi: erc20Abi, functionName: 'totalSupply' }), 18) }
    }
    return { Depth: double(depth) + (z === own ? mainnet.id : 0) }
  },
})
`

const packagedCollector = `import { defineCollector } from 'tidegauge'
import { size } from 'viem'
import { hexToNumber } from 'viem/utils'
import { z } from 'zod'

export default defineCollector({
  options: z.strictObject({}),
  metrics: { Packaged: {} },
  history: false,
  collect: () => ({ Packaged: hexToNumber('0x6') + size('0x00') }),
})
`

const collectorTest = `import { collectorContract, type Recording, record, replay } from 'tidegauge/testing'

const collector = { use: './depth.ts', configFile: 'own.yaml', options: { depth: 21 }, hour: '2026-11-20T13:00:00Z' }
const recording: Recording = await record(collector)
collectorContract('depth', { ...collector, hours: [collector.hour], recording })
const { Depth } = await replay({ ...collector, recording })
if (Depth !== 43) throw new Error(String(Depth))
`

const configuration = `service: embedded
data: ./data
status: { listen: "127.0.0.1:0" }
protocols:
  - id: own
    name: Own
    collectors:
      - use: host
      - use: ./depth.ts
        options: { depth: 21 }
      - use: own-collector
`

let folder = ''
let clone = ''
let tarball = ''
let bin = ''
let dependencies: readonly string[] = []

beforeAll(() => {
  folder = sharedFolder()
  clone = cleanClone(folder)
  const before = readFileSync(join(clone, 'package.json'), 'utf8')
  tarball = packed(clone, folder)
  expect(readFileSync(join(clone, 'package.json'), 'utf8')).toBe(before)
  bin = bareBin(folder)
  dependencies = [
    ownPackage(folder, 'own-dependency', {
      'index.js': 'export const double = number => 2 * number\n',
      'index.d.ts': 'export declare const double: (number: number) => number\n',
    }),
    ownPackage(folder, 'own-collector', { 'index.js': packagedCollector }),
  ]
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the tarball', () => {
  it('is small, and has what is needed to run, to read and to write collectors, and nothing else', () => {
    expect(statSync(tarball).size).toBeLessThan(bytesMax)
    const files = listed()
    for (const needed of [
      ...['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md', 'dist/bin.cjs', 'dist/types/collector.d.ts'],
      ...['collectors/README.md', 'collectors/host.ts', 'collectors/values/formula.ts', 'dist/collectors/host.js'],
      ...['config/local.yaml', 'config/production.example.yaml', 'config/tidegauge.schema.json'],
      ...['dist/cli/LICENSES.txt', 'dist/child/LICENSES.txt', 'docs/recipes/README.md', 'docs/deploy/own.Dockerfile'],
    ]) {
      expect(files).toContain(needed)
    }
    expect(
      files.filter(
        file =>
          /^test\/|\.test\.|\.map$|clone|^src\/|^build\/|^Dockerfile/.test(file) && !file.startsWith('config/starter/'),
      ),
    ).toEqual([])
  })

  it('starts a folder by npm create, from the tarball of its own package', () => {
    const create = packed(join(clone, 'create'), folder)
    const { version: own, dependencies: needs } = JSON.parse(readFileSync(join(clone, 'create/package.json'), 'utf8'))
    expect([own, needs.tidegauge]).toEqual([version, version])
    const at = join(folder, 'created')
    mkdirSync(at)
    const packages = [tarball, create].map(path => `--package=${path}`)
    const npm = ['exec', '--yes', '--prefer-offline', ...packages, '--', 'create-tidegauge', 'mine']
    const said = execFileSync(join(bin, 'npm'), npm, { cwd: at, env: { ...process.env, PATH: bin }, stdio: 'pipe' })
    expect(said.toString()).toContain('cd mine')
    expect(readdirSync(join(at, 'mine'))).toEqual(
      expect.arrayContaining(['tidegauge.yaml', 'collectors', 'package.json']),
    )
    const inFolder = (name: 'npm' | 'npx', ...args: string[]) =>
      execFileSync(join(bin, name), args, { cwd: join(at, 'mine'), env: { ...process.env, PATH: bin }, stdio: 'pipe' })
    inFolder('npm', 'install', '--prefer-offline', '--no-audit', '--no-fund')
    const shown = inFolder('npx', 'tidegauge', 'collect', '--dry-run', '--json')
    expect(JSON.parse(shown.toString()).metrics.length).toBeGreaterThan(0)
  })

  it('names no path of the machine and no registry', () => {
    const unpacked = join(folder, 'unpacked')
    mkdirSync(unpacked)
    execFileSync('tar', ['xzf', tarball, '-C', unpacked])
    const places = [root, clone, folder, homedir(), tmpdir()].filter(place => place.length > '/tmp'.length)
    const named = readdirSync(unpacked, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
      .filter(file => places.some(place => readFileSync(file, 'utf8').includes(place.replace(/\/?$/, '/'))))
    expect(named).toEqual([])
  })

  it('has a right package.json, by publint and Are The Types Wrong', async () => {
    const data = readFileSync(tarball)
    const archive = new Uint8Array(data).buffer
    const { messages } = await publint({ pack: { tarball: archive }, strict: true })
    expect(messages).toEqual([])
    const analysis = await checkPackage(createPackageFromTarballData(new Uint8Array(data)))
    const problems = analysis.types === false ? ['it has no types'] : analysis.problems
    // It is ESM, which CommonJS of this Node can require, and resolution of Node 10 knows no exports.
    expect(problems.filter(problem => typeof problem === 'string' || !isOfOldNodes(problem))).toEqual([])
  })
})

function isOfOldNodes(problem: { readonly kind: string; readonly resolutionKind?: string }): boolean {
  return problem.resolutionKind === 'node10' || problem.kind === 'CJSResolvesToESM'
}

describe.each([
  ['with install scripts', ['--ignore-scripts=false']],
  ['without install scripts', ['--ignore-scripts']],
])('installed %s, without a compiler, and run by another user', (title, flags) => {
  let project = ''
  beforeAll(() => {
    project = join(folder, title.replaceAll(' ', '-'))
    mkdirSync(join(project, 'data'), { recursive: true })
    // Who installs and who runs are different users.
    if (notRoot.uid !== undefined) chownSync(join(project, 'data'), notRoot.uid, notRoot.gid)
    writeFileSync(join(project, 'package.json'), '{ "name": "project", "private": true, "type": "module" }')
    writeFileSync(join(project, 'depth.ts'), collector)
    writeFileSync(join(project, 'depth.test.ts'), collectorTest)
    writeFileSync(join(project, 'own.yaml'), configuration)
    const npm = ['install', '--prefer-offline', '--no-audit', '--no-fund', ...flags, tarball, ...dependencies]
    execFileSync(join(bin, 'npm'), npm, { cwd: project, env: { ...process.env, PATH: bin }, stdio: 'pipe' })
  })

  const run = (...args: string[]): Promise<Ended> => ended(project, args)

  it('has the command, its version and its check', async () => {
    expect(await run('--version')).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
    expect(await run('check', '--config', 'own.yaml')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/own___Depth[\s\S]*own\.yaml: in order, 6 metrics/),
    })
  })

  it('works without a configuration, too: the embedded service, and this machine', async () => {
    const { code, stdout } = await run('collect', '--dry-run')
    expect(stdout).toMatch(/this-machine___Load/)
    expect(code).toBe(0)
  })

  it('runs a collector in TypeScript, with a dependency of the project and the program’s own libraries', async () => {
    const { code, stdout } = await run('collect', '--dry-run', '--config', 'own.yaml')
    // Twice 21, and the id of the chain where zod is the same for both imports.
    expect(stdout).toMatch(/own___Depth +43 +m/)
    expect(stdout).toMatch(/own___Packaged +7/)
    expect(code).toBe(0)
  })

  it('type-checks in a strict project, in both ways to resolve modules', () => {
    for (const [module, moduleResolution] of [
      ['nodenext', 'nodenext'],
      ['esnext', 'bundler'],
    ]) {
      const strict = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, noEmit: true, types: [] }
      const compilerOptions = { ...strict, module, moduleResolution, target: 'es2024' }
      writeFileSync(
        join(project, 'tsconfig.json'),
        JSON.stringify({ compilerOptions, files: ['depth.ts', 'depth.test.ts'] }),
      )
      execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', project], {
        stdio: 'inherit',
      })
    }
  })

  it('keeps what Node compiles in a folder of the user alone', () => {
    const home = join(project, 'home')
    mkdirSync(home)
    const env = { ...environment(), HOME: home }
    execFileSync(join(project, 'node_modules/.bin/tidegauge'), ['check', '--config', 'own.yaml'], { cwd: project, env })
    const cache = join(home, '.cache/tidegauge')
    expect(statSync(cache).mode & 0o777).toBe(0o700)
    expect(readdirSync(cache, { recursive: true }).length).toBeGreaterThan(5)
  })

  it('brings no Node, no chain and no library that is bundled', () => {
    const packages = readdirSync(join(project, 'node_modules'))
    expect(packages).toEqual(expect.arrayContaining(['better-sqlite3', 'tidegauge', 'zod']))
    expect(
      packages.filter(name => /node-(linux|darwin|bin)|foundry|fastify|undici$|pino|rolldown|^viem|^ox$/.test(name)),
    ).toEqual([])
  })

  it('takes less than 60 MB on disk, with what was installed next to it', () => {
    const all = readdirSync(join(project, 'node_modules'), { recursive: true }).map(String)
    const blocks = all.map(path => lstatSync(join(project, 'node_modules', path)).blocks)
    expect(blocks.reduce((sum, each) => sum + each) * 512).toBeLessThan(installedBytesMax)
  })

  it('starts a folder whose collectors run, are tested and type-check at once', async () => {
    const started = join(project, 'started')
    mkdirSync(started)
    const tidegauge = join(project, 'node_modules/.bin/tidegauge')
    const command = (file: string, ...args: string[]) =>
      execFileSync(file, args, { cwd: started, env: environment(), stdio: 'pipe' }).toString()
    expect(command(tidegauge, 'init')).toContain('  npm install ')
    // Nothing but the tarball is named: no registry has this version.
    const { dependencies: named } = JSON.parse(readFileSync(join(started, 'package.json'), 'utf8'))
    expect(resolve(started, named.tidegauge.replace('file:', ''))).toBe(tarball)
    expect(command(tidegauge, 'check')).toMatch(/in order, 1 metric/)
    expect(command(tidegauge, 'collect', '--dry-run')).toMatch(/___Age +[\d.]+ +days/)
    expect(command(join(bin, 'node'), '--test')).toMatch(/fail 0$/m)
    command(process.execPath, join(root, 'node_modules/typescript/bin/tsc'), '-p', '.')
  })

  it('links itself into a folder elsewhere, and says the one way to install over links', () => {
    const elsewhere = temporaryFolder()
    const tidegauge = join(project, 'node_modules/.bin/tidegauge')
    const said = execFileSync(tidegauge, ['init'], { cwd: elsewhere, env: environment(), stdio: 'pipe' }).toString()
    expect(readdirSync(join(elsewhere, 'node_modules'))).toContain('tidegauge')
    expect(said.match(/^.*npm install.*$/gm)).toEqual([expect.stringContaining('rm -r node_modules, then npm install')])
  })

  it('runs as a daemon, and delivers', async () => {
    const daemon = spawn(join(project, 'node_modules/.bin/tidegauge'), ['run', '--config', 'own.yaml'], {
      ...notRoot,
      cwd: project,
      env: environment(),
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    onTestFinished(() => void daemon.kill('SIGKILL'))
    const messages: unknown[] = []
    for await (const line of createInterface({ input: daemon.stderr })) {
      const { msg, page } = JSON.parse(line) as { readonly msg?: unknown; readonly page?: string }
      messages.push(msg)
      if (msg === 'running') expect(await (await fetch(new URL('/livez', page))).text()).toMatch(/^live/)
      if (msg === 'delivered') daemon.kill('SIGTERM')
    }
    expect(messages).toContain('delivered')
    expect(messages.at(-1)).toBe('stopped')
  })
})

it('is begun with as README.md says, and a value of its chain is collected', async () => {
  const [, block = ''] =
    /^## Quick start\n\n```sh\n([\s\S]*?)^```/m.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? []
  const lines = block.split('\n').map(line => line.replace(/ +#.*/, ''))
  const [pack, ...typed] = lines.filter(line => line !== '')
  // The first one made the tarball, and the last one runs until it is stopped.
  expect([pack, typed.pop()]).toEqual(['npm pack', 'npx tidegauge run'])
  const project = join(folder, 'quick-start')
  mkdirSync(project)
  const said = execFileSync('sh', ['-ec', typed.join('\n').replace('PATH/', `${folder}/`)], {
    cwd: project,
    env: { ...process.env, PATH: bin, npm_config_prefer_offline: 'true' },
    stdio: 'pipe',
  })
  expect(said.toString()).toMatch(/my-protocol___Age +[\d.]+ +days/)

  // The anvil of the clone stands for npm's package, which this folder or one above may have.
  symlinkSync(join(root, 'node_modules/.bin/anvil'), join(project, 'node_modules/.bin/anvil'))
  const mine = { cwd: join(project, 'mine'), env: environment() }
  const tidegauge = join(project, 'node_modules/.bin/tidegauge')
  const port = String(await freePort())
  const chain = spawn(tidegauge, ['devchain', '--port', port], { ...mine, stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = once(chain, 'close')
  onTestFinished(() => void chain.kill('SIGKILL'))
  for await (const line of createInterface({ input: chain.stdout })) {
    if (!line.includes('Stop with Ctrl-C')) continue
    const file = join(mine.cwd, 'tidegauge.yaml')
    const yaml = readFileSync(file, 'utf8').replace(/^( *)# (chains:| {2}local:|- use:| {2}options:)/gm, '$1$2')
    writeFileSync(file, yaml.replace('18545', port))
    const collected = execFileSync(tidegauge, ['collect', '--dry-run', '--only', 'supply'], { ...mine, stdio: 'pipe' })
    expect(collected.toString()).toMatch(/my-protocol___Supply +[\d.,]+ +TIDE/)
    chain.kill('SIGINT')
  }
  expect(await closed).toEqual([0, null])
})

it('says in one line which Node it needs, under one of any age', async () => {
  const dist = join(clone, 'dist/bin.cjs')
  const script = readFileSync(dist, 'utf8').replaceAll('process.version', '"v8.17.0"')
  const old = join(clone, 'dist/old.cjs')
  writeFileSync(old, script)
  const { code, stderr } = await new Promise<Ended>(resolve => {
    execFile(process.execPath, [old, '--version'], (error, stdout, stderr) => resolve(endOf(error, stdout, stderr)))
  })
  expect([code, stderr]).toEqual([
    1,
    'tidegauge: needs Node 24.18.1, 26.5.1, or a newer one of these, and this is v8.17.0: npx tidegauge uses the one of its folder\n',
  ])
  // Node 8 itself would report what it cannot parse.
  expect(codeOf(script)).not.toMatch(/\bimport\b|\?\.|\?\?|\*\*|catch \{|\basync\b|\.\.\./)
})

function environment(): Record<string, string> {
  // No home of its own, and no compile cache of the tests.
  return { PATH: bin, HOME: '/nonexistent', TMPDIR: tmpdir(), NO_COLOR: '1' }
}

function ended(project: string, args: readonly string[]): Promise<Ended> {
  const options = { ...notRoot, cwd: project, env: environment() }
  return new Promise(resolve => {
    execFile(join(project, 'node_modules/.bin/tidegauge'), args, options, (error, stdout, stderr) =>
      resolve(endOf(error, stdout, stderr)),
    )
  })
}

function endOf(error: ExecFileException | null, stdout: string, stderr: string): Ended {
  return { code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stdout, stderr }
}

function listed(): string[] {
  const names = execFileSync('tar', ['tzf', tarball]).toString().trim().split('\n')
  expect(basename(tarball)).toBe(`tidegauge-${version}.tgz`)
  return names.map(name => name.replace('package/', ''))
}
