import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../support/folder.ts'
import { freePort } from '../support/free-port.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const readme = readFileSync(join(root, 'README.md'), 'utf8')

/** Code blocks of a section, in their order. */
function blocks(section: string, language: string): string[] {
  const text = readme.split(/^## /m).find(part => part.startsWith(`${section}\n`)) ?? ''
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\``, 'gm'))].map(([, code = '']) => code)
}

/** The commands of a section, without their comments. */
function commands(section: string): string[] {
  return blocks(section, 'sh').flatMap(block =>
    block
      .split('\n')
      .map(line => line.replace(/ +#.*/, ''))
      .filter(Boolean),
  )
}

/** What a clone has, with its packages. */
function cleanClone(): string {
  const clone = temporaryFolder()
  for (const name of ['src', 'collectors', 'config', 'test', 'package.json', '.npmrc']) {
    const filter = (path: string) => !/node_modules|mine\.yaml|tide\.yaml|supply\.ts/.test(path.slice(root.length))
    cpSync(join(root, name), join(clone, name), { recursive: true, filter })
  }
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'))
  return clone
}

interface Shell {
  readonly child: ChildProcess
  /** Resolves once its output holds these words; rejects when it ends before. */
  says(words: RegExp): Promise<string>
  readonly ended: Promise<{ readonly code: number | null; readonly text: string }>
}

/** As in a terminal: what npm tells the tests about their own run is not for the commands. */
const ownEnv = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|INIT_CWD$)/i.test(name)))

/** Types a command; whatever it has started ends with the test. */
function type(command: string, cwd: string): Shell {
  const child = spawn('sh', ['-c', command], { cwd, env: ownEnv, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  const looks = new Set<() => void>()
  const heard = (chunk: Buffer) => {
    text += chunk
    for (const look of looks) look()
  }
  child.stdout.on('data', heard)
  child.stderr.on('data', heard)
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, text }))
  onTestFinished(async () => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGTERM')
    } catch {
      // It has ended.
    }
    await ended
  })
  const says = (words: RegExp) =>
    new Promise<string>((resolve, reject) => {
      const look = () => void (words.test(text) && resolve(text))
      looks.add(look)
      look()
      void ended.then(end =>
        reject(new Error(`${command} ended with ${end.code} before it said ${words}:\n${end.text}`)),
      )
    })
  return { child, says, ended }
}

it('the tutorial ends with a value at the service, as written, in a clean clone', { timeout: 300_000 }, async () => {
  const clone = cleanClone()
  const [chainPort, pagePort, servicePort] = [await freePort(), await freePort(), await freePort()]
  // Ports may be taken on this machine; all else is as it is written.
  const here = (text: string) =>
    text
      .replaceAll('18545', String(chainPort))
      .replaceAll('9465', String(pagePort))
      .replaceAll('8787', String(servicePort))
  const done = async (command = '') => {
    const { code, text } = await type(here(command), clone).ended
    expect(code, `${command}\n${text}`).toBe(0)
    return text
  }

  const [devchain = ''] = commands('A chain to try it on')
  expect(devchain).toBe('npm run devchain')
  const [checkTide, dryRunTide, ...none] = commands('Without code')
  const [check, dryRun, run = '', show, ...more] = commands('Your first collector')
  expect([...none, ...more]).toEqual([])
  const [tide = ''] = blocks('Without code', 'yaml')
  writeFileSync(join(clone, 'config/tide.yaml'), here(tide))
  const [collector = ''] = blocks('Your first collector', 'ts')
  const [configuration = ''] = blocks('Your first collector', 'yaml')
  writeFileSync(join(clone, 'config/supply.ts'), collector)
  writeFileSync(join(clone, 'config/mine.yaml'), here(configuration))

  const chain = await type(`${devchain} -- --port ${chainPort}`, clone).says(/Stop with Ctrl-C/)
  const [token = ''] = /0x[0-9a-fA-F]{40}/.exec(configuration) ?? []
  expect(chain).toContain(`${token}  TIDE`)
  expect(configuration).toContain(`id: ${/chain id (\d+)/.exec(chain)?.[1]}`)

  expect(await done(checkTide)).toContain('in order, 4 metrics an hour')
  expect(await done(dryRunTide)).toMatch(
    /Supply +[\d.,]+ +TIDE\n.*MarketCap +[\d.,]+ +USD\n.*Locked +[\d.,]+ +USD\n.*Transferred +[\d.,]+ +TIDE/,
  )
  expect(await done(check)).toContain('in order, 1 metric an hour')
  expect(await done(dryRun)).toMatch(/my-token___Supply +[\d.,]+ +TIDE/)
  await type(here(run), clone).says(/"msg":"running"/)
  let shown = ''
  // Until the daemon has registered it, the service does not know the protocol.
  while (!/^Supply +[\d.,]+ +TIDE/m.test(shown)) shown = (await type(here(show ?? ''), clone).ended).text

  const [create, service = '', register, collect, ...others] = commands('Against a service')
  expect(others).toEqual([])
  const [ofService = ''] = blocks('Against a service', 'yaml')
  await done(create)
  await type(`${service} --listen 127.0.0.1:${servicePort}`, clone).says(/service at /)
  writeFileSync(join(clone, 'config/mine.yaml'), here(configuration).replace('service: embedded\n', here(ofService)))
  expect(await done(register)).toContain('my-token: registered')
  expect(await done(collect)).toContain('1 of 1 delivered')
})

it('the tutorial’s port is the one that the chain listens on by default', () => {
  const source = readFileSync(join(root, 'test/demo/devchain.ts'), 'utf8')
  expect(source).toContain('portDefault = 18_545')
  expect(readme).toContain('http://127.0.0.1:18545')
})
