export { PendingScreen as AuditTab } from '../pending/PendingScreen.js'
