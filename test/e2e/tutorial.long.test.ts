import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { blocks, cleanClone, commands, root, tutorial, type } from './tutorial-shell.ts'

const readme = readFileSync(join(root, 'README.md'), 'utf8')

it('the tutorial ends with a value at the service, as written, in a clean clone', async () => {
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
  expect(devchain).toBe('npx tidegauge devchain')
  const [checkTide, dryRunTide, ...none] = commands('Without code')
  const [check, dryRun, run = '', show, ...more] = commands('Your first collector')
  expect([...none, ...more]).toEqual([])
  const [tide = ''] = blocks('Without code', 'yaml')
  writeFileSync(join(clone, 'config/tide.yaml'), here(tide))
  const [collector = ''] = blocks('Your first collector', 'ts')
  const [configuration = ''] = blocks('Your first collector', 'yaml')
  writeFileSync(join(clone, 'config/supply.ts'), collector)
  writeFileSync(join(clone, 'config/mine.yaml'), here(configuration))

  const chain = await type(`${devchain} --port ${chainPort}`, clone).says(/Stop with Ctrl-C/)
  const [token = ''] = /0x[0-9a-fA-F]{40}/.exec(configuration) ?? []
  expect(chain).toContain(`${token}  TIDE`)
  expect(configuration).toContain(`id: ${/chain id (\d+)/.exec(chain)?.[1]}`)

  expect(await done(checkTide)).toContain('in order, 4 metrics an hour')
  const [, asked = '', answered = ''] = /^\$ (npx tidegauge new .*)\n((?:.+\n)+?)^```/m.exec(readme) ?? []
  // The README's vault is one of Ethereum's; here that of the local chain stands for it.
  const [vault = ''] = /0x[0-9a-fA-F]{40}(?= +an ERC-4626 vault)/.exec(chain) ?? []
  const [itself = ''] = /0x[0-9a-fA-F]{40}/.exec(asked) ?? []
  const local = (text: string) =>
    text.replaceAll('mainnet', 'local').replaceAll(itself, vault).replaceAll('unit: DAI', 'unit: DUSD')
  const answer = await done(`${local(asked)} --config config/tide.yaml`)
  // A line of dots stands for what is left out.
  const lines = local(answered).trimEnd().split('\n')
  for (const line of lines.filter(each => each !== '…')) expect(answer.split('\n')).toContain(line)
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
  const source = readFileSync(join(root, 'src/cli/commands/devchain.ts'), 'utf8')
  expect(source).toContain('portDefault = 18_545')
  expect(tutorial).toContain('http://127.0.0.1:18545')
})
