import { existsSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { Fault } from '../../model/fault.ts'
import { shellWord } from '../../model/text.ts'
import { newCollectorFiles } from '../init/starter.ts'
import { extensionIn, writeFiles } from '../init/write-files.ts'
import { refreshSchema } from '../schema-file.ts'
import { note, print } from '../terminal.ts'

/**
 * Writes a collector that reads a chain, its test and its recording into `collectors/` next to the configuration, and
 * prints the entry for it. The schema next to the configuration then knows its options.
 *
 * @throws Fault `usage` for a name that is no file name, and where one of the files exists
 */
export async function newCollector(name: string, configFile: string): Promise<void> {
  if (!/^[A-Za-z0-9][\w-]{0,60}$/.test(name)) {
    throw new Fault('usage', 'a collector is named with letters, digits, - and _', { fix: 'tidegauge new my-vault' })
  }
  const folder = dirname(resolve(configFile))
  const extension = extensionIn(folder, false)
  const files = newCollectorFiles(name, extension)
  // One with another ending would have the same id.
  const others = ['.ts', '.mts', '.js', '.mjs'].map(ending => `collectors/${name}${ending}`)
  const there = [...Object.keys(files), ...others].find(file => existsSync(join(folder, file)))
  if (there !== undefined) {
    throw new Fault('usage', `${there} exists, and nothing is written over`, { fix: 'choose another name' })
  }
  const { written } = writeFiles(folder, files)
  const shown = (file: string) => shellWord(relative(process.cwd(), join(folder, file)))
  for (const file of written) note(`written: ${shown(file)}`)
  await refreshSchema(configFile)
  print(entryText(`./collectors/${name}${extension}`))
  note(
    [
      'Next: put these lines under collectors: of a protocol, with a chain of the configuration, then',
      `  node --test ${shown(`collectors/${name}.test${extension}`)}`,
      `  npx tidegauge collect --watch --only ${name} --dry-run`,
    ].join('\n'),
  )
}

function entryText(use: string): string {
  return [`- use: ${use}`, '  options: { chain: local, token: "0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0" }'].join(
    '\n',
  )
}
