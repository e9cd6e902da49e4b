import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../support/folder.ts'

const run = promisify(execFile)
const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url))
const compiler = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url))

/** As a user types it in a folder: nothing of the tests' own run is seen. */
async function typed(folder: string, ...args: readonly string[]) {
  const env = { PATH: process.env['PATH'], HOME: folder, NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] }
  try {
    const { stdout, stderr } = await run(process.execPath, args, { cwd: folder, env })
    return { code: 0, stdout, stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, stdout, stderr }
  }
}

const tidegauge = (folder: string, ...args: readonly string[]) => typed(folder, main, ...args)

describe('init', () => {
  it('writes a folder in which everything works at once, without a network', { timeout: 120_000 }, async () => {
    const above = temporaryFolder()
    const begun = await tidegauge(above, 'init', 'mine')
    expect(begun).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/cd mine\n[\s\S]*rm -r node_modules && npm install/),
      stderr: expect.stringMatching(
        /on this machine only: node_modules\/tidegauge, node_modules\/.bin\/tidegauge, node_modules\/viem/,
      ),
    })
    const folder = join(above, 'mine')
    expect(readdirSync(folder).toSorted()).toEqual([
      '.gitignore',
      '.npmrc',
      'collectors',
      'node_modules',
      'package.json',
      'tidegauge.schema.json',
      'tidegauge.yaml',
      'tsconfig.json',
    ])
    expect(await tidegauge(folder, 'check')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('in order, 1 metric an hour'),
    })
    const collected = await tidegauge(folder, 'collect', '--dry-run')
    expect(collected.stdout).toMatch(/my-protocol___Age +[\d.,]+ +days/)
    expect(await typed(folder, compiler, '--project', '.')).toMatchObject({ code: 0, stdout: '' })
    const tests = await typed(folder, '--test')
    expect(tests, tests.stdout).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ℹ pass 14$/m) })
  })

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
    expect((await tidegauge(folder, 'init')).stderr).toMatch(/^there already, and left as it is: tidegauge.yaml, /m)
    expect(readFileSync(join(folder, 'tidegauge.yaml'), 'utf8')).toBe('# mine\n')
  })
})

describe('init of an unusual folder', () => {
  it.each([
    ['a file', ['taken'], 'taken is a file, not a folder'],
    ['below a file', ['taken/x'], 'taken is a file, not a folder'],
    ['where collectors is a file', [], 'collectors is a file, not a folder'],
    ['without a name', [''], 'the folder has no name'],
  ])('writes nothing: %s', async (_, words, message) => {
    const folder = temporaryFolder()
    for (const name of ['taken', 'collectors']) writeFileSync(join(folder, name), '')
    const { code, stderr } = await tidegauge(folder, 'init', ...words)
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
    expect(readdirSync(folder).toSorted()).toEqual(['collectors', 'taken'])
  })

  it.each(['-x', '-', "it's a folder"])('prints a cd that a shell understands: %s', async name => {
    const above = temporaryFolder()
    const { stdout } = await tidegauge(above, 'init', '--', name)
    const cd = /^ {2}(cd .*)$/m.exec(stdout)?.[1]
    const moved = await run('sh', ['-c', `${cd} && pwd -P`], { cwd: above })
    expect(moved.stdout.trim()).toBe(join(realpathSync(above), name))
  })
})

describe('new NAME', () => {
  it('writes a collector with a test that passes, and prints its entry', { timeout: 120_000 }, async () => {
    const folder = temporaryFolder()
    await tidegauge(folder, 'init')
    const begun = JSON.parse(readFileSync(join(folder, 'tidegauge.schema.json'), 'utf8'))
    expect(begun.$defs).toHaveProperty(['options-of-.-collectors-supply.ts', 'properties', 'token'])
    writeFileSync(join(folder, 'collectors/helper.ts'), 'export const two = 2\n')
    const made = await tidegauge(folder, 'new', 'my-vault')
    expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining('- use: ./collectors/my-vault.ts') })
    // An editor knows the options of a collector before it is used: those init wrote, and the new one.
    const schema = JSON.parse(readFileSync(join(folder, 'tidegauge.schema.json'), 'utf8'))
    for (const name of ['age', 'supply', 'my-vault']) {
      expect(schema.$defs).toHaveProperty([`options-of-.-collectors-${name}.ts`, 'type'], 'object')
    }
    expect(JSON.stringify(schema)).not.toMatch(/helper|\.test\.ts/)
    const tests = await typed(folder, '--test', '--test-name-pattern=supply|same bytes', 'collectors/my-vault.test.ts')
    expect(tests, tests.stdout).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ℹ pass 2$/m) })
    // The test fails when the collector reads something else.
    const file = join(folder, 'collectors/my-vault.ts')
    writeFileSync(file, readFileSync(file, 'utf8').replace("'totalSupply'", "'decimals'"))
    const changed = await typed(folder, '--test', '--test-name-pattern=supply', 'collectors/my-vault.test.ts')
    expect(changed).toMatchObject({ code: 1, stdout: expect.stringContaining('not in the recording') })
    expect(changed.stdout).toContain('chain local: decimals() of 0x9fE4')
  })

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
})
