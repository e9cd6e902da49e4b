import pg from 'pg'

const deadlockDetected = '40P01'

/**
 * Drops the schema of the job engine while daemons work in it. PostgreSQL may end the drop to resolve a deadlock with one
 * of them; it is repeated then.
 */
export async function dropJobs(query: (text: string) => Promise<unknown>): Promise<void> {
  try {
    await query('DROP SCHEMA tidegauge_jobs CASCADE')
  } catch (error) {
    if (!(error instanceof pg.DatabaseError && error.code === deadlockDetected)) throw error
    await dropJobs(query)
  }
}
