export { PendingScreen as UsersTab } from '../pending/PendingScreen.js'
