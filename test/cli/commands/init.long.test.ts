import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../support/folder.ts'
import { packed } from '../../support/package.ts'
import { typedTidegauge as tidegauge, typed } from './typed.ts'

const compiler = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url))

describe('init and new', () => {
  it('writes a folder in which everything works at once, without a network', async () => {
    const above = temporaryFolder()
    const begun = await tidegauge(above, 'init', 'mine')
    expect(begun).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/cd mine\n[\s\S]*rm -r node_modules, then npm install/),
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

  it('writes a package that passes its test, and is found in another project', async () => {
    const above = temporaryFolder()
    await tidegauge(above, 'init', '--package', 'tides')
    const name = 'tidegauge-collector-tides'
    const folder = join(above, name)
    const tests = await typed(folder, '--test')
    expect(tests, tests.stdout).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ℹ pass 7$/m) })
    const project = temporaryFolder()
    const place = join(project, 'node_modules', name)
    mkdirSync(place, { recursive: true })
    execFileSync('tar', ['xzf', packed(folder, project), '--strip-components=1', '-C', place])
    expect(readdirSync(place).toSorted()).toEqual(['README.md', 'index.js', 'package.json'])
    const entry = `{ use: ${name}, options: { chain: local, token: "0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0" } }`
    writeFileSync(
      join(project, 'tidegauge.yaml'),
      `service: embedded\nchains: { local: { id: 31337, rpc: [http://127.0.0.1:9] } }\nprotocols: [{ id: own, name: Own, collectors: [${entry}] }]\n`,
    )
    expect((await tidegauge(project, 'check')).stdout).toMatch(/own___Supply +TIDE +yes/)
    const schema = JSON.parse((await tidegauge(project, 'schema')).stdout)
    expect(schema.$defs).toHaveProperty([`options-of-${name}`, 'properties', 'token'])
  })

  it('writes a collector with a test that passes, and prints its entry', async () => {
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
})

describe('init in a project', () => {
  it.each([
    ['of its own without types', '{ "type": "module" }', [], 'npm install --save-dev @types/node typescript'],
    ['of its own with one of them', '{ "type": "module" }', ['typescript'], 'npm install --save-dev @types/node'],
    ['of its own with types', '{ "type": "module" }', ['@types/node', 'typescript'], undefined],
    [
      'of its own that names them',
      '{ "devDependencies": { "@types/node": "*", "typescript": "*" } }',
      [],
      'npm install',
    ],
    ['that it sets up', undefined, [], 'npm install'],
  ])('%s says how the types of collectors are found', async (_, manifest, installed, command) => {
    const folder = temporaryFolder()
    if (manifest !== undefined) writeFileSync(join(folder, 'package.json'), manifest)
    for (const name of ['tidegauge', ...installed]) mkdirSync(join(folder, 'node_modules', name), { recursive: true })
    const { stdout } = await tidegauge(folder, 'init')
    expect(/^ {2}(npm install.*?) +#/m.exec(stdout)?.[1]).toBe(command)
  })

  it('says how the package itself is found, where it can be neither found nor linked', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    writeFileSync(join(folder, 'node_modules'), '')
    const { stdout } = await tidegauge(folder, 'init')
    expect(stdout).toMatch(/^ {2}npm install \S+ && npm install --save-dev @types\/node typescript #/m)
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
    const moved = execFileSync('sh', ['-c', `${cd} && pwd -P`], { cwd: above }).toString()
    expect(moved.trim()).toBe(join(realpathSync(above), name))
  })
})
