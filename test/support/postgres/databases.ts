import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { postgresPlace } from './programs.ts'
import { PostgresServer, type PostgresSettings } from './server.ts'

/** Databases of one server that a file's tests share; each test has databases of its own. */
export class TestDatabases {
  #server: PostgresServer | undefined
  readonly #free: string[] = []
  #made = 0

  get server(): PostgresServer {
    if (!this.#server) throw new Error('the server is not running')
    return this.#server
  }

  async start(settings: PostgresSettings): Promise<void> {
    if (postgresPlace.kind === 'missing') throw new Error(postgresPlace.reason)
    this.#server = await PostgresServer.started(postgresPlace.path, {
      settings: {
        // A process of tests opens many connections, and closes them late.
        max_connections: '60',
        // No power is cut here: what a killed server has written is with the system, and survives.
        fsync: 'off',
        full_page_writes: 'off',
        ...settings,
      },
    })
  }

  async stop(): Promise<void> {
    await this.#server?.stop()
  }

  /** Address of an empty database, which is another test's once this one has finished. */
  async empty(): Promise<string> {
    return this.#used(dropSchemas)
  }

  /** As `empty`, but it may have tables without rows: to make them takes longer than most tests. */
  async cleared(): Promise<string> {
    return this.#used(deleteRows)
  }

  async #used(clear: string): Promise<string> {
    const name = this.#free.pop() ?? (await this.#new())
    await this.server.query(`${endOthers}; ${clear}`, [], name)
    onTestFinished(() => void this.#free.push(name))
    return this.server.address('', name)
  }

  async #new(): Promise<string> {
    this.#made += 1
    await this.server.query(`CREATE DATABASE test_${this.#made}`)
    return `test_${this.#made}`
  }
}

const endOthers = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`
const dropSchemas = 'DROP SCHEMA IF EXISTS tidegauge CASCADE; DROP SCHEMA IF EXISTS tidegauge_jobs CASCADE'
/** Foreign keys are not checked meanwhile, so that the order does not matter. */
const deleteRows = `DO $$ DECLARE one record; BEGIN
  PERFORM set_config('session_replication_role', 'replica', true);
  FOR one IN SELECT tablename FROM pg_tables WHERE schemaname = 'tidegauge' AND tablename <> 'version' LOOP
    EXECUTE format('DELETE FROM tidegauge.%I', one.tablename);
  END LOOP;
  FOR one IN SELECT sequencename FROM pg_sequences WHERE schemaname = 'tidegauge' LOOP
    EXECUTE format('ALTER SEQUENCE tidegauge.%I RESTART', one.sequencename);
  END LOOP;
END $$`

/** A server for the tests of the file or `describe` that calls it, which skips them where `postgresPlace` is missing. */
export function useTestDatabases(settings: PostgresSettings = {}): TestDatabases {
  const databases = new TestDatabases()
  beforeAll(() => databases.start(settings))
  afterAll(() => databases.stop())
  return databases
}
