package systemd

const abstract = true // names of sockets that are in no file system
