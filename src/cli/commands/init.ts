import { join, relative, resolve } from 'node:path'
import { Command } from 'commander'
import { Fault } from '../../model/fault.ts'
import { shellWord } from '../../model/text.ts'
import { ownConfigFile } from '../configured-command.ts'
import { installCommand, linkPackages } from '../init/links.ts'
import { starterFiles } from '../init/starter.ts'
import { extensionIn, writeFiles } from '../init/write-files.ts'
import { readableConfig } from '../readable-config.ts'
import { schemaCommandLine, schemaFile, schemaText } from '../schema-file.ts'
import { note, print } from '../terminal.ts'

/** `init`: a folder to start from. Files that are there are left as they are. */
export function initCommand(): Command {
  return new Command('init')
    .description('writes a folder to start from: a configuration, collectors of your own and their tests')
    .argument('[folder]', 'made where it does not exist', '.')
    .action(async (named: string) => {
      if (named === '') throw new Fault('usage', 'the folder has no name', { fix: 'tidegauge init my-values' })
      const folder = resolve(named)
      const extension = extensionIn(folder, true)
      const { written, kept } = writeFiles(folder, starterFiles(folder, extension))
      const schema = await writeSchema(folder)
      written.push(...schema.written)
      kept.push(...schema.kept)
      if (written.length > 0) note(`written to ${named}: ${written.join(', ')}`)
      if (kept.length > 0) note(`there already, and left as it is: ${kept.join(', ')}`)
      const links = linkPackages(folder)
      if (links.length > 0) note(`linked to the package that runs this, on this machine only: ${links.join(', ')}`)
      // To install over links needs more than a command: the advice below says how.
      print(nextSteps(relative(process.cwd(), folder), links.length > 0 ? undefined : installCommand(folder)))
      if (links.length > 0) print(installAdvice)
    })
}

/** The schema for editors, with the options of the folder's own collectors. */
async function writeSchema(folder: string) {
  return writeFiles(folder, { [schemaFile]: await schemaText(readableConfig(join(folder, ownConfigFile))) })
}

/** npm writes links that it finds into `package-lock.json`, with paths of this machine. */
const installAdvice = `
The links in node_modules hold on this machine only. To install packages in their place, before a commit or on another machine:
  rm -r node_modules, then npm install, or npm install path/to/tidegauge-VERSION.tgz
Without the rm, npm writes the links into package-lock.json.`

/** @param install the command that brings what is missing; `undefined` when nothing is */
function nextSteps(folder: string, install: string | undefined): string {
  return [
    'Next:',
    ...(folder === '' ? [] : [`  cd ${shellWord(folder.replace(/^-/, './-'))}`]),
    ...(install === undefined ? [] : [`  ${install.padEnd(37)} # packages for tests and an editor`]),
    '  npx tidegauge check                   # the configuration and its collectors, offline',
    '  npx tidegauge collect --dry-run       # one hour, shown and not sent',
    '  node --test                           # the tests of the collectors, on recordings',
    '  npx tidegauge run                     # the daemon; its page is at http://127.0.0.1:9464/',
    '  npx tidegauge show my-protocol        # in another terminal: the widget, as the service has it',
    '',
    'A value of a chain: run a node of your own, or `npm run devchain` in a clone of Tidegauge; in tidegauge.yaml take the',
    '# off the chain and the second collector, and',
    '  npx tidegauge collect --watch --only supply --dry-run      # again at each save',
    'A running daemon reloads a changed configuration. A further collector: npx tidegauge new NAME',
    `When options of a collector change, an editor needs: ${schemaCommandLine}`,
  ].join('\n')
}
