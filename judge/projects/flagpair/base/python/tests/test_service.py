import json
import threading
import unittest
import urllib.request
from wsgiref.simple_server import WSGIRequestHandler, make_server

from flagpair.service import make_app
from support import ask

FLAGS = {
    'b': {'on': True, 'rules': [{'if': {'country': 'DE'}, 'then': 'yes'}], 'else': 'no'},
    'a': {'on': False, 'rules': [], 'else': 'off'},
}


class ServiceTest(unittest.TestCase):
    def setUp(self):
        self.app = make_app(FLAGS)

    def test_evaluate(self):
        body = json.dumps({'context': {'country': 'DE'}}).encode()
        self.assertEqual(ask(self.app, 'POST', '/evaluate', body), (200, {'flags': {'a': 'off', 'b': 'yes'}}))

    def test_not_json(self):
        self.assertEqual(ask(self.app, 'POST', '/evaluate', b'{"context": '), (400, {'error': 'not JSON'}))

    def test_no_context(self):
        for body in (b'[]', b'{}', b'{"context": 5}'):
            with self.subTest(body=body):
                self.assertEqual(ask(self.app, 'POST', '/evaluate', body), (400, {'error': 'no context'}))

    def test_flags(self):
        self.assertEqual(ask(self.app, 'GET', '/flags'), (200, ['a', 'b']))

    def test_nothing_there(self):
        self.assertEqual(ask(self.app, 'GET', '/evaluate')[0], 404)
        self.assertEqual(ask(self.app, 'GET', '/')[0], 404)


class Quiet(WSGIRequestHandler):
    def log_message(self, *args):
        pass


class NetworkTest(unittest.TestCase):
    def test_health(self):
        server = make_server('127.0.0.1', 0, make_app(FLAGS), handler_class=Quiet)
        thread = threading.Thread(target=server.serve_forever, kwargs={'poll_interval': 0.3})
        thread.start()
        try:
            with urllib.request.urlopen('http://127.0.0.1:%d/health' % server.server_port, timeout=5) as answer:
                self.assertEqual(json.load(answer), 'ok')
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


if __name__ == '__main__':
    unittest.main()
