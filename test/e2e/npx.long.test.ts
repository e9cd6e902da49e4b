import { execFile, spawn } from 'node:child_process'
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../support/folder.ts'
import { configured, hostYaml } from '../support/tidegauge.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

describe('npx tidegauge', () => {
  it('run ends when npx is stopped, though npx passes no signal on', async () => {
    const { config } = configured(hostYaml)
    const npx = spawn('npx', ['tidegauge', 'run', '--config', config], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    onTestFinished(() => void npx.kill('SIGKILL'))
    const messages: unknown[] = []
    // Ends when no process writes any more: the daemon holds the other end, too.
    for await (const line of createInterface({ input: npx.stderr })) {
      if (!line.startsWith('{')) continue
      const { msg } = JSON.parse(line) as { msg?: unknown }
      messages.push(msg)
      if (msg === 'running') npx.kill('SIGTERM')
    }
    expect(messages.at(-1)).toBe('stopped')
  })

  it('says in one line which Node it needs, under one that is too old', async () => {
    const { node, version, isNew } = await systemNode()
    const [code, stdout, stderr] = await run(node, ['src/bin.cjs', '--version'])
    // The machine's own Node may be new enough: then it must say its version.
    if (isNew) {
      expect([code, stdout]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+(-rc\.\d+)?$/)])
    } else {
      expect(code).toBe(1)
      expect(stderr).toBe(
        `tidegauge: needs Node 24.18.1, 26.5.1, or a newer one of these, and this is ${version}: npx tidegauge uses the one of its folder`,
      )
    }
  })

  it('names the package that brings Node without a script, under one that is too old', async () => {
    const { node, version, isNew } = await systemNode()
    const main = join(temporaryFolder(), 'bin.cjs')
    copyFileSync(join(root, 'src/bin.cjs'), main)
    if (isNew || process.platform !== 'linux') return
    const name = `node-linux-${process.arch}`
    expect((await run(node, [main, '--version']))[2]).toBe(
      `tidegauge: needs Node 24.18.1, 26.5.1, or a newer one of these, and this is ${version}: install one of them; for npx in this folder alone, npm install --save-optional ${name}@24`,
    )
    const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
    expect(packages[`node_modules/${name}`]).toMatchObject({ bin: { node: 'bin/node' }, optional: true })
    expect(packages[`node_modules/${name}`]).not.toHaveProperty('hasInstallScript')
  })
})

async function systemNode() {
  const [, node = ''] = await run('sh', [
    '-c',
    `PATH="\${PATH#*/node_modules/.bin:}" command -v node || echo ${process.execPath}`,
  ])
  const [, version = ''] = await run(node, ['--version'])
  const [major = 0, minor = 0] = version.slice(1).split('.').map(Number)
  return { node, version, isNew: major > 24 || (major === 24 && minor >= 12) }
}

function run(program: string, args: readonly string[]): Promise<[code: number, stdout: string, stderr: string]> {
  return new Promise(resolve => {
    execFile(program, args, { cwd: root }, (error, stdout, stderr) =>
      resolve([typeof error?.code === 'number' ? error.code : 0, stdout.trim(), stderr.trim()]),
    )
  })
}
