import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { cleanClone, commands, type } from './tutorial-shell.ts'

it('from init to a value of a chain in the widget, as docs/tutorial.md says it', async () => {
  const clone = cleanClone()
  const folder = join(clone, 'mine')
  const [chainPort, pagePort] = [await freePort(), await freePort()]
  // Ports may be taken on this machine; all else is as it is written.
  const here = (text: string) => text.replaceAll('18545', String(chainPort)).replaceAll('9464', String(pagePort))
  const done = async (command = '', cwd = folder) => {
    const { code, text } = await type(command, cwd).ended
    expect(code, `${command}\n${text}`).toBe(0)
    return text
  }
  const config = join(folder, 'tidegauge.yaml')
  const edit = (change: (text: string) => string) => writeFileSync(config, change(readFileSync(config, 'utf8')))

  const [init, check, dryRun, tests, run = '', show = '', watch = '', ...others] = commands('A folder of your own')
  expect(others).toEqual([])
  expect(await done(init, clone)).toContain('npx tidegauge collect --dry-run')
  edit(here)
  expect(await done(check)).toContain('in order, 1 metric an hour')
  expect(await done(dryRun)).toMatch(/my-protocol___Age +[\d.,]+ +days/)
  expect(await done(tests)).toMatch(/^ℹ fail 0$/m)
  await type(run, folder).says(/"msg":"running"/)
  const shown = async (line: RegExp) => {
    for (;;) {
      const { text } = await type(show, folder).ended
      if (line.test(text)) return
    }
  }
  await shown(/^Age +[\d.,]+ +days/m)

  const [devchain = ''] = commands('A chain to try it on')
  await type(`${devchain} --port ${chainPort}`, clone).says(/Stop with Ctrl-C/)
  edit(text => text.replace(/^( *)# (chains:| {2}local:|- use:| {2}options:)/gm, '$1$2'))
  await type(watch.replace('age', 'supply'), folder).says(/my-protocol___Supply +[\d.,]+ +TIDE[\s\S]*watching/)
  await shown(/^Supply +[\d.,]+ +TIDE/m)
})
