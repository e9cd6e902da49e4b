import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type InputOptions, rolldown } from 'rolldown'
import { programFiles, sharedLibraries } from '../src/edge/program-files.ts'
import { notices, packageFolders } from './notices.ts'

/** Libraries that are not bundled: native code. */
const external = ['better-sqlite3', 'pg-native', 'cloudflare:sockets']

/**
 * Bundles the program into `dist`: once for the command line and the daemon, and once for the processes of collectors,
 * so that neither loads what only the other needs. Each entry stays a file of its own, and so does what is imported
 * dynamically.
 */
export async function bundle(root: string): Promise<void> {
  const programs = Object.values(programFiles)
  await write(root, 'cli', ofProcess(programs, 'cli'))
  await write(root, 'child', { ...ofProcess(programs, 'child'), ...collectors(root), ...libraries() })
}

type Entries = Readonly<Record<string, string>>

function ofProcess(programs: readonly (readonly [string, string])[], name: string): Entries {
  const own = programs.filter(([, bundled]) => bundled.startsWith(`dist/${name}/`))
  return Object.fromEntries(own.map(([source, bundled]) => [entryOf(bundled), source]))
}

function collectors(root: string): Entries {
  const files = readdirSync(join(root, 'collectors')).filter(file => file.endsWith('.ts'))
  return Object.fromEntries(files.map(file => [`collectors/${file.replace(/\.ts$/, '')}`, `collectors/${file}`]))
}

function libraries(): Entries {
  return Object.fromEntries(Object.entries(sharedLibraries).map(([name, bundled]) => [entryOf(bundled), name]))
}

const entryOf = (bundled: string) => bundled.replace(/^dist\/|\.js$/g, '')

async function write(root: string, folder: string, input: Entries): Promise<void> {
  const options: InputOptions = {
    cwd: root,
    input: { ...input },
    platform: 'node',
    external,
    tsconfig: join(root, 'tsconfig.json'),
    preserveEntrySignatures: 'strict',
  }
  await using bundled = await rolldown(options)
  const { output } = await bundled.write({
    dir: join(root, 'dist'),
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: `${folder}/[name]-[hash].js`,
    minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
    sourcemap: false,
    comments: { legal: false },
  })
  const modules = output.flatMap(chunk => (chunk.type === 'chunk' ? chunk.moduleIds : []))
  writeFileSync(join(root, 'dist', folder, 'LICENSES.txt'), notices(packageFolders(modules)))
}
