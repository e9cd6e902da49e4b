import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packageUrl } from '../../edge/program-files.ts'
import { version } from '../../edge/version.ts'
import { jsonOf, valueAt } from '../../model/json.ts'

/** Files by their path in a folder. */
export type FolderFiles = Readonly<Record<string, string>>

/** Extension of TypeScript files that Node takes for modules, whatever the nearest `package.json` says. */
export type SourceExtension = '.ts' | '.mts'

const starterUrl = new URL('config/starter/', packageUrl)
const packageFolder = fileURLToPath(packageUrl)

/** Whether this program runs from a clone, which no registry has. */
const isClone = import.meta.url.endsWith('.ts')

/** The collector with a test that `init` and `new` write under other names. */
const template = 'supply'

/** All files of a folder to start from, apart from the schema, which depends on them. */
export function starterFiles(folder: string, extension: SourceExtension): FolderFiles {
  const files = { ...collectorFiles('age', 'age', extension), ...collectorFiles(template, template, extension) }
  return {
    'tidegauge.yaml': starterText('tidegauge.yaml').replaceAll('.ts', extension),
    ...files,
    'package.json': jsonText(manifest(folder)),
    'tsconfig.json': jsonText(typescriptConfig),
    ...(isNewProject(folder) && { '.npmrc': npmSettings }),
    '.gitignore': 'node_modules/\ndata/\nsecrets/\n.env\n',
  }
}

/** npm compiles SQLite at each install from a lock file, and the package has it compiled. */
const npmSettings = `# Packages run no scripts at an install: nothing is compiled, no compiler is needed. Remove it for pre and post scripts.
ignore-scripts=true
`

/** Whether the project is ours to set up: one that exists may need the scripts of its packages. */
const isNewProject = (folder: string) => !existsSync(join(folder, 'package.json'))

/** A collector that reads a chain, its test and its recording. */
export function newCollectorFiles(name: string, extension: SourceExtension): FolderFiles {
  return collectorFiles(template, name, extension)
}

function collectorFiles(from: string, name: string, extension: SourceExtension): FolderFiles {
  const file = (ending: string) => starterText(`collectors/${from}${ending}`)
  const named = (text: string) =>
    text
      .replaceAll(`${from}.ts`, `${name}${extension}`)
      .replaceAll(`${from}.test.ts`, `${name}.test${extension}`)
      .replaceAll(`${from}.recording`, `${name}.recording`)
      .replaceAll(`'${from}'`, `'${name}'`)
  return {
    [`collectors/${name}${extension}`]: file('.ts'),
    [`collectors/${name}.test${extension}`]: named(file('.test.ts')),
    ...(from === template && { [`collectors/${name}.recording.json`]: file('.recording.json') }),
  }
}

function starterText(path: string): string {
  return readFileSync(new URL(path, starterUrl), 'utf8')
}

const jsonText = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`

function manifest(folder: string) {
  const tidegauge = isClone ? `file:${relative(folder, packageFolder)}` : `^${version}`
  return {
    private: true,
    type: 'module',
    scripts: { test: 'node --test' },
    dependencies: { tidegauge, viem: libraryVersion('viem'), zod: libraryVersion('zod') },
    devDependencies: { '@types/node': '^24.12.0', typescript: '>=5.9' },
  }
}

/** The version that this package uses: an editor then shows the types of what runs. */
function libraryVersion(name: string): string {
  return String(valueAt(jsonOf(readFileSync(join(packageFolder, 'package.json'), 'utf8')), ['dependencies', name]))
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
