import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type InputOptions, type OutputAsset, type OutputChunk, rolldown } from 'rolldown'
import { programFiles, sharedLibraries } from '../edge/program-files.ts'
import { notices, packageFolders } from './notices.ts'

/** Libraries that are not bundled: native code. */
const external = ['better-sqlite3', 'pg-native', 'cloudflare:sockets']

/**
 * Bundles the program into `dist`: once for the command line and the daemon, and once for the processes of collectors,
 * so that neither loads what only the other needs. Each entry stays a file of its own, and so does what is imported
 * dynamically.
 *
 * The command line is CommonJS: it starts in two thirds of the time. Node reads modules one by one in a loop of promises,
 * and an import of one of its own modules reads all exports, some of which load a good deal more. Collectors, and what they
 * share with their process, are ES modules, so there such an import becomes a call.
 */
export async function bundle(root: string): Promise<void> {
  const programs = Object.values(programFiles)
  await write(root, 'cli', 'cjs', ofProcess(programs, 'cli'))
  await write(root, 'child', 'esm', { ...ofProcess(programs, 'child'), ...collectors(root), ...libraries() })
  // Apart, or the chunks of what every collector loads would be cut to pieces.
  await write(root, 'viem', 'esm', Object.fromEntries(viemParts(root).map(part => [part, part])))
}

type BundleEntries = Readonly<Record<string, string>>

function ofProcess(programs: readonly (readonly [string, string])[], name: string): BundleEntries {
  const own = programs.filter(([, bundled]) => bundled.startsWith(`dist/${name}/`))
  return Object.fromEntries(own.map(([source, bundled]) => [entryOf(bundled), source]))
}

function collectors(root: string): BundleEntries {
  const files = readdirSync(join(root, 'collectors')).filter(file => file.endsWith('.ts'))
  return Object.fromEntries(files.map(file => [`collectors/${file.replace(/\.ts$/, '')}`, `collectors/${file}`]))
}

function libraries(): BundleEntries {
  return Object.fromEntries(Object.entries(sharedLibraries).map(([name, bundled]) => [entryOf(bundled), name]))
}

/**
 * Parts of viem that have a name of their own, such as `viem/chains`. Left out are `viem/tempo`, a third of all for
 * one chain, and `viem/node`, whose types need those of Node. Who wants these installs viem.
 */
export function viemParts(root: string): readonly string[] {
  const { exports } = JSON.parse(readFileSync(join(root, 'node_modules/viem/package.json'), 'utf8')) as ViemManifest
  const paths = Object.keys(exports).filter(path => path !== '.' && typeof exports[path] !== 'string')
  return paths.filter(path => !/^\.\/(tempo|node)\b/.test(path)).map(path => path.replace('.', 'viem'))
}

interface ViemManifest {
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>
}

const entryOf = (bundled: string) => bundled.replace(/^dist\/|\.c?js$/g, '')

async function write(root: string, folder: string, format: 'cjs' | 'esm', input: BundleEntries): Promise<void> {
  const options: InputOptions = {
    cwd: root,
    input: { ...input },
    platform: 'node',
    external,
    tsconfig: join(root, 'tsconfig.json'),
    preserveEntrySignatures: 'strict',
    transform: { define: { 'import.meta.main': 'false' } },
    plugins: format === 'esm' ? [{ name: 'own-modules-of-node', renderChunk: withoutFacades }] : [],
  }
  const extension = format === 'cjs' ? 'cjs' : 'js'
  await using bundled = await rolldown(options)
  const { output } = await bundled.write({
    dir: join(root, 'dist'),
    format,
    entryFileNames: `[name].${extension}`,
    chunkFileNames: `${folder}/[name]-[hash].${extension}`,
    minify: { compress: true, mangle: { toplevel: false, keepNames: true }, codegen: { removeWhitespace: true } },
    sourcemap: false,
    comments: { legal: false },
  })
  for (const { fileName } of output) inAscii(join(root, 'dist', fileName))
  if (format === 'cjs') importable(root, output)
  const modules = output.flatMap(chunk => (chunk.type === 'chunk' ? chunk.moduleIds : []))
  // Compiled contracts are parts of packages that no module is of.
  const contracts = folder === 'cli' ? `\n${readFileSync(join(root, 'src/devchain/LICENSES.txt'), 'utf8')}` : ''
  writeFileSync(join(root, 'dist', folder, 'LICENSES.txt'), notices(packageFolders(modules)) + contracts)
}

const ownImport =
  /^import (?:(?<main>\w+)|\* as (?<all>\w+)|(?:(?<first>\w+), )?\{(?<names>[^}]*)\}) from "(?<name>node:(?!sqlite)[\w/]+)";$/gm

/** Takes modules of Node by a call, which reads only what is used. A module that a flag may switch off stays an import. */
function withoutFacades(code: string): string {
  return code.replace(ownImport, (...match) => {
    const { main, all, first, names, name } = match.at(-1) as Readonly<Record<string, string | undefined>>
    const taken = `process.getBuiltinModule("${name}")`
    const own = [main, all, first].flatMap(each => (each ? [`const ${each} = ${taken};`] : []))
    const parts = names ? [`const {${names.replaceAll(' as ', ': ')}} = ${taken};`] : []
    return [...own, ...parts].join(' ')
  })
}

/**
 * Writes characters beyond ASCII as escapes: with a single one, V8 keeps all of a file in two bytes a character. A
 * backslash before one means nothing, and goes.
 */
function inAscii(file: string): void {
  const code = readFileSync(file, 'utf8').replace(/(\\*)([^\0-\x7f])/g, (_, before: string, character: string) => {
    const escaped = `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
    return before.slice(before.length % 2) + escaped
  })
  writeFileSync(file, code)
}

/** Writes an ES module for an entry that is imported by name: its exports, and the types of them, are those of one. */
function importable(root: string, output: readonly (OutputChunk | OutputAsset)[]): void {
  const moduleNames = new Set<string>(Object.values(programFiles).map(([, bundled]) => bundled))
  for (const chunk of output) {
    if (chunk.type !== 'chunk') continue
    const module = `dist/${chunk.name}.js`
    if (!chunk.isEntry || !moduleNames.has(module)) continue
    writeFileSync(join(root, module), `export { ${chunk.exports.join(', ')} } from './${basename(chunk.fileName)}'\n`)
  }
}
