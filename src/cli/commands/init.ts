import { existsSync, readFileSync, realpathSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { makeFolders } from '../../edge/make-folders.ts'
import { packageUrl } from '../../edge/program-files.ts'
import { packageName, version } from '../../edge/version.ts'
import { Fault } from '../../model/fault.ts'
import { jsonOf, parsedJson, valueAt } from '../../model/json.ts'
import { shellWord } from '../../model/text.ts'
import { ownConfigFile } from '../configured-command.ts'
import { note, print } from '../terminal.ts'
import { readableConfig, schemaCommandLine, schemaFile, schemaText } from './schema.ts'

/** `init`: a folder to start from, or a package with a collector. Files that are there are left as they are. */
export function initCommand(): Command {
  return new Command('init')
    .description('writes a folder to start from: a configuration, collectors of your own and their tests')
    .argument('[folder]', 'made where it does not exist (default: this one; of a package, its name)')
    .option('--package <name>', 'a package with a collector instead, for others to install: NAME or @org/NAME')
    .action(async (given: string | undefined, { package: ofOwn }: { readonly package?: string }) => {
      if (ofOwn !== undefined) return initPackage(ofOwn, given)
      const folderName = given ?? '.'
      if (folderName === '') throw new Fault('usage', 'the folder has no name', { fix: 'tidegauge init my-values' })
      const folder = resolve(folderName)
      const extension = extensionIn(folder, true)
      const { writtenFiles, keptFiles } = writeFiles(folder, starterFiles(folder, extension))
      // For editors, with the options of the folder's own collectors.
      const schema = writeFiles(folder, { [schemaFile]: await schemaText(readableConfig(join(folder, ownConfigFile))) })
      writtenFiles.push(...schema.writtenFiles)
      keptFiles.push(...schema.keptFiles)
      if (writtenFiles.length > 0) note(`written to ${folderName}: ${writtenFiles.join(', ')}`)
      if (keptFiles.length > 0) note(`there already, and left as it is: ${keptFiles.join(', ')}`)
      const links = linkPackages(folder)
      if (links.length > 0) note(`linked to the package that runs this, on this machine only: ${links.join(', ')}`)
      // To install over links needs more than a command: the advice below says how.
      const page = keptFiles.includes(ownConfigFile) ? 'where status.listen says' : 'at http://127.0.0.1:9464/'
      print(nextSteps(relative(process.cwd(), folder), page, links.length > 0 ? undefined : installCommand(folder)))
      if (links.length > 0) print(installAdvice)
    })
}

/** `init --package`: a package with a collector, its test on a recording, and what a registry shows of it. */
function initPackage(given: string, folderGiven: string | undefined): void {
  const name = collectorPackage(given)
  const folderName = folderGiven ?? name.replace(/^.*\//, '')
  const folder = resolve(folderName)
  demandNoOther(name, folder)
  const { writtenFiles, keptFiles } = writeFiles(folder, packageFiles(name, folder))
  if (writtenFiles.length > 0) note(`written to ${folderName}: ${writtenFiles.join(', ')}`)
  if (keptFiles.length > 0) note(`there already, and left as it is: ${keptFiles.join(', ')}`)
  const links = linkPackages(folder)
  if (links.length > 0) note(`linked to the package that runs this, on this machine only: ${links.join(', ')}`)
  print(
    [
      'Next:',
      `  cd ${cdWord(relative(process.cwd(), folder))}`,
      ...(links.length > 0 ? [] : ['  npm install']),
      '  npm test                      # the collector, on its recording',
      '  npm pack                      # the tarball; in a project: npm install path/to/it',
      `In a configuration: use: ${yamlName(name)}`,
    ].join('\n'),
  )
}

/** @throws Fault `usage` when the folder is that of another package, which one without the same scope is, too */
function demandNoOther(name: string, folder: string): void {
  const file = join(folder, 'package.json')
  const other = existsSync(file) ? valueAt(parsedJson(readFileSync(file, 'utf8')), ['name']) : undefined
  if (other === undefined || other === name) return
  throw new Fault('usage', `${folder} is the folder of the package ${String(other)}`, {
    fix: `name another folder: tidegauge init FOLDER --package ${name}`,
  })
}

/** A package's name as YAML takes it: no text begins with @ there. */
const yamlName = (name: string) => (name.startsWith('@') ? JSON.stringify(name) : name)

const packagePrefix = 'tidegauge-collector-'

/**
 * The name of a package with a collector. @param given with or without a scope and the prefix
 *
 * @throws Fault `usage` when it is no name of a package
 */
function collectorPackage(given: string): string {
  const [, scope = '', own = ''] = /^(@[a-z0-9][a-z0-9._-]*\/)?([a-z0-9][a-z0-9._-]*)$/.exec(given) ?? []
  const name = `${scope}${packagePrefix}${own.replace(packagePrefix, '')}`
  if (own !== '' && !name.endsWith('-') && name.length <= packageCharsMax) return name
  throw new Fault('usage', `a package is named with small letters, digits, - and _, after a scope like @org/ or none`, {
    fix: 'tidegauge init --package tides, or --package @org/tides',
  })
}

/** Longest name that npm takes. */
const packageCharsMax = 214

function packageFiles(name: string, folder: string): FolderFiles {
  const file = (path: string) =>
    starterText(`package/${path}`)
      .replaceAll('use: PACKAGE', `use: ${yamlName(name)}`)
      .replaceAll('PACKAGE', name)
  return {
    // It has no types: Node runs no TypeScript of an installed package.
    'index.js': starterText(`collectors/${template}.ts`),
    'index.test.js': file('index.test.js'),
    'index.recording.json': starterText(`collectors/${template}.recording.json`),
    'package.json': jsonText({
      name,
      version: '0.1.0',
      description: 'A collector for Tidegauge: the supply of a token',
      keywords: ['tidegauge', 'tidegauge-collector'],
      type: 'module',
      exports: './index.js',
      files: ['index.js'],
      scripts: { test: 'node --test' },
      peerDependencies: { tidegauge: `^${version}` },
      devDependencies: { tidegauge: originFor(folder) },
    }),
    'README.md': file('README.md'),
    ...(hasOurSettings(folder) && { '.npmrc': npmSettings }),
    '.gitignore': 'node_modules/\n',
  }
}

/** npm writes links that it finds into `package-lock.json`, with paths of this machine. */
const installAdvice = `
The links in node_modules hold on this machine only. To install packages in their place, before a commit or on another machine:
  rm -r node_modules, then npm install, or npm install path/to/tidegauge-VERSION.tgz
Without the rm, npm writes the links into package-lock.json.`

/** @param install the command that brings what is missing; `undefined` when nothing is */
function nextSteps(folder: string, page: string, install: string | undefined): string {
  return [
    'Next:',
    ...(folder === '' ? [] : [`  cd ${cdWord(folder)}`]),
    ...(install === undefined ? [] : [`  ${install.padEnd(37)} # packages for tests and an editor`]),
    '  npx tidegauge check                   # the configuration and its collectors, offline',
    '  npx tidegauge collect --dry-run       # one hour, shown and not sent',
    '  npm test                              # the tests of the collectors, on recordings',
    `  npx tidegauge run                     # the daemon; its page is ${page}`,
    '  npx tidegauge show my-protocol        # in another terminal: the widget, as the service has it',
    '',
    'A value of a chain: have a node of your own, or start one in a terminal of its own:',
    '  npx tidegauge devchain                # a local chain with 48 hours of past',
    'In tidegauge.yaml take the # off the chain and the second collector, and',
    '  npx tidegauge collect --watch --only supply --dry-run      # again at each save',
    'A running daemon reloads a changed configuration. A further collector: npx tidegauge new NAME',
    `When options of a collector change, an editor needs: ${schemaCommandLine}`,
  ].join('\n')
}

/** A folder as a shell's `cd` takes it. */
const cdWord = (folder: string) => shellWord(folder.replace(/^-/, './-'))

/** Files by their path in a folder. */
type FolderFiles = Readonly<Record<string, string>>

/** Extension of TypeScript files that Node takes for modules, whatever the nearest `package.json` says. */
type SourceExtension = '.ts' | '.mts'

const starterUrl = new URL('config/starter/', packageUrl)
const packageFolder = fileURLToPath(packageUrl)

/** Whether this program runs from a clone, which no registry has. */
const isClone = import.meta.url.endsWith('.ts')

/** The collector with a test that `init` and `new` write under other names. */
const template = 'supply'

/** All files of a folder to start from, apart from the schema, which depends on them. */
function starterFiles(folder: string, extension: SourceExtension): FolderFiles {
  const files = { ...collectorFiles('age', extension, 'age'), ...collectorFiles(template, extension) }
  return {
    'tidegauge.yaml': starterText('tidegauge.yaml').replaceAll('.ts', extension),
    ...files,
    'package.json': jsonText(manifest(folder)),
    'tsconfig.json': jsonText(typescriptConfig),
    ...(hasOurSettings(folder) && { '.npmrc': npmSettings }),
    '.gitignore': 'node_modules/\ndata/\nsecrets/\n.env\n',
  }
}

/** npm compiles SQLite at each install from a lock file, and the package has it compiled. */
const npmSettings = `# Packages run no scripts at an install: nothing is compiled, no compiler is needed. Remove it for pre and post scripts.
ignore-scripts=true
`

/** Whether npm's settings are ours to write: a project that exists may need the scripts of its packages. Those there stay. */
const hasOurSettings = (folder: string) =>
  !existsSync(join(folder, 'package.json')) || existsSync(join(folder, '.npmrc'))

/** A collector, its test and, where it reads a chain, its recording. @param from collector of `config/starter/` */
export function collectorFiles(name: string, extension: SourceExtension, from = template): FolderFiles {
  const file = (ending: string) => starterText(`collectors/${from}${ending}`)
  const withName = (text: string) =>
    text
      .replaceAll(`${from}.ts`, `${name}${extension}`)
      .replaceAll(`${from}.test.ts`, `${name}.test${extension}`)
      .replaceAll(`${from}.recording`, `${name}.recording`)
      .replaceAll(`'${from}'`, `'${name}'`)
  return {
    [`collectors/${name}${extension}`]: file('.ts'),
    [`collectors/${name}.test${extension}`]: withName(file('.test.ts')),
    ...(from === template && { [`collectors/${name}.recording.json`]: file('.recording.json') }),
  }
}

function starterText(path: string): string {
  return readFileSync(new URL(path, starterUrl), 'utf8')
}

const jsonText = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`

function manifest(folder: string) {
  return {
    private: true,
    type: 'module',
    // Fails before anything is installed, and on a Node that is too old: that one finds no tests in .ts, and is content.
    scripts: { test: 'tidegauge --version && node --test' },
    dependencies: {
      [ownName]: originFor(folder),
      ...(isClone && { viem: libraryVersion('viem') }),
      zod: libraryVersion('zod'),
    },
    devDependencies: { '@types/node': '^24.12.0', typescript: '>=5.9' },
  }
}

/** Source of this package for npm, as seen from a folder: the tarball or address that it came from, or a version of the registry. */
function originFor(folder: string): string {
  const project = /^(.*)[/\\]node_modules[/\\]/.exec(packageFolder)?.[1]
  const file = project === undefined ? undefined : join(project, 'package.json')
  const named = file !== undefined && existsSync(file) ? parsedJson(readFileSync(file, 'utf8')) : undefined
  const origin = valueAt(named, ['dependencies', ownName]) ?? valueAt(named, ['devDependencies', ownName])
  // A clone, or a package that was installed for all users.
  if (isClone || project === undefined || typeof origin !== 'string') return `file:${relative(folder, packageFolder)}`
  if (origin.startsWith('file:')) return `file:${relative(folder, resolve(project, origin.slice('file:'.length)))}`
  if (/^(https?|git)/.test(origin)) return origin
  return packageName === ownName ? `^${version}` : `npm:${packageName}@^${version}`
}

/** The version that this package uses: an editor then shows the types of what runs. Those of viem come with an installed package. */
function libraryVersion(name: 'viem' | 'zod'): string {
  const manifest = jsonOf(readFileSync(join(packageFolder, 'package.json'), 'utf8'))
  return String(valueAt(manifest, [name === 'viem' ? 'devDependencies' : 'dependencies', name]))
}

const typescriptConfig = {
  compilerOptions: {
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable'],
    module: 'esnext',
    moduleResolution: 'bundler',
    types: ['node'],
    noEmit: true,
    strict: true,
    noUncheckedIndexedAccess: true,
    // Node runs TypeScript by leaving the types out.
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
    verbatimModuleSyntax: true,
    skipLibCheck: true,
  },
  include: ['collectors'],
}

/** The name that collectors import. */
const ownName = 'tidegauge'

/** Packages that the types of collectors need, and that no production install brings. */
const typePackages = ['@types/node', 'typescript'] as const

/** Packages that collectors and their tests import, or whose types these need. */
const packages = ['viem', 'zod', ...typePackages] as const

/**
 * Links the running package and its libraries into a folder that has none of them, so that tests and an editor find them
 * before anything is installed. Packages that the folder finds already stay. A package that npx fetched for one command is
 * not linked.
 *
 * @returns the paths in the folder that were linked
 */
function linkPackages(folder: string): readonly string[] {
  const links: string[] = []
  if (found(ownName, folder) || /[/\\]_npx[/\\]/.test(packageFolder)) return links
  const link = (target: string, name: string) => {
    const path = join(folder, name)
    if (existsSync(path)) return
    makeFolders(dirname(path))
    symlinkSync(target, path)
    links.push(name)
  }
  try {
    link(packageFolder, 'node_modules/tidegauge')
    const bin = valueAt(jsonOf(readFileSync(join(packageFolder, 'package.json'), 'utf8')), ['bin', 'tidegauge'])
    link(join(folder, 'node_modules/tidegauge', String(bin)), 'node_modules/.bin/tidegauge')
    for (const name of packages) {
      const target = found(name, folder) ? undefined : found(name, packageFolder)
      if (target) link(realpathSync(target), `node_modules/${name}`)
    }
  } catch {
    // Some systems allow no links: npm install does the same.
  }
  return links
}

/**
 * The command that installs what a folder with a `package.json` does not find of this package and the types of collectors;
 * `undefined` when it finds all.
 */
function installCommand(folder: string): string | undefined {
  const isMissing = (name: string) => found(name, folder) === undefined
  if (![ownName, ...typePackages].some(isMissing)) return undefined
  const manifest = parsedJson(readFileSync(join(folder, 'package.json'), 'utf8'))
  const isNamed = (name: string) =>
    ['dependencies', 'devDependencies'].some(kind => valueAt(manifest, [kind, name]) !== undefined)
  const isUnnamed = (name: string) => isMissing(name) && !isNamed(name)
  const types = typePackages.filter(isUnnamed)
  const commands = [
    ...(isUnnamed(ownName) ? [`npm install ${installedAs(folder)}`] : []),
    ...(types.length > 0 ? [`npm install --save-dev ${types.join(' ')}`] : []),
  ]
  return commands.length > 0 ? commands.join(' && ') : 'npm install'
}

/** Argument of `npm install` for this package. */
function installedAs(folder: string): string {
  const origin = originFor(folder)
  if (/^\^/.test(origin)) return ownName
  return origin.startsWith('file:') ? shellWord(origin.slice('file:'.length)) : `${ownName}@${origin}`
}

/** The folder of a package as seen from another folder; `undefined` when there is none. */
function found(name: string, from: string): string | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const path = join(folder, 'node_modules', name)
    if (existsSync(path)) return path
    if (folder === dirname(folder)) return undefined
  }
}

/**
 * Writes files that do not exist yet.
 *
 * @returns the paths that were written, and those that were there and were left alone
 * @throws Fault `usage` when the folder cannot be written; when it or a folder in it is a file, before anything is written
 */
export function writeFiles(folder: string, files: FolderFiles) {
  for (const parent of new Set(Object.keys(files).map(name => dirname(join(folder, name))))) demandNoFile(parent)
  const [writtenFiles, keptFiles]: [string[], string[]] = [[], []]
  for (const [name, text] of Object.entries(files))
    (writeNew(join(folder, name), text) ? writtenFiles : keptFiles).push(name)
  return { writtenFiles, keptFiles }
}

/** @throws Fault `usage` when a folder, or one above it, is a file */
function demandNoFile(folder: string): void {
  const above = dirname(folder)
  if (above !== folder) demandNoFile(above)
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== false) return
  throw new Fault('usage', `${folder} is a file, not a folder`, { fix: 'name another folder, or move the file' })
}

/** @returns false when there is such a file */
function writeNew(path: string, text: string): boolean {
  try {
    makeFolders(dirname(path))
    writeFileSync(path, text, { flag: 'wx' })
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST' && existsSync(path)) return false
    throw new Fault('usage', `${path} cannot be written (${codeOf(error)})`, { fix: 'name another folder' })
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
}

/**
 * The extension of new collectors: `.ts` where Node takes that for a module, which the nearest `package.json` decides.
 *
 * @param isNew whether a `package.json` of our own is about to be written there
 */
export function extensionIn(folder: string, isNew: boolean): SourceExtension {
  for (let currentFolder = resolve(folder); ; currentFolder = dirname(currentFolder)) {
    const file = join(currentFolder, 'package.json')
    if (existsSync(file)) return valueAt(parsedJson(readFileSync(file, 'utf8')), ['type']) === 'module' ? '.ts' : '.mts'
    if (isNew || currentFolder === dirname(currentFolder)) return '.ts'
  }
}
